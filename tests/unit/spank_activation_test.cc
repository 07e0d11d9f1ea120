// The activation rule, the site configuration, srun's command line, LD_PRELOAD and names: pure functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "spank/activation.h"
#include "spank/preload_list.h"
#include "spank/site_config.h"
#include "spank/srun_arguments.h"
#include "spank/step_facts.h"

namespace slurmscope {
namespace {

using ::testing::HasSubstr;

SiteConfig site_with(std::vector<std::string> words) {
  SiteConfig site;
  std::vector<char *> pointers;
  for (std::string &word : words) pointers.push_back(word.data());
  read_site_arguments(static_cast<int>(pointers.size()), pointers.data(), &site);
  return site;
}

Decision decide_with(const ActivationInputs &inputs, const SiteConfig &site = SiteConfig()) {
  Decision decision;
  decide(inputs, site, &decision);
  // The cheap test that slurmstepd makes first may not lose anything.
  EXPECT_TRUE(may_be_active(inputs, site) || !decision.is_active());
  return decision;
}

TEST(Activation, NobodySaidAnything) {
  Decision decision = decide_with({});
  EXPECT_FALSE(decision.is_active());
  EXPECT_EQ(decision.by, DecidedBy::kNobody);
  EXPECT_FALSE(may_be_active({}, SiteConfig()));
}

TEST(Activation, EveryWayWorksAlone) {
  EXPECT_EQ(decide_with({.srun_profile = "task"}).settings.mode, Mode::kTrace);
  EXPECT_EQ(decide_with({.option = ""}).settings.mode, Mode::kTrace);
  EXPECT_EQ(decide_with({.option = "summary"}).settings.mode, Mode::kSummary);
  EXPECT_EQ(decide_with({.profile = "All"}).settings.mode, Mode::kTrace);
  EXPECT_EQ(decide_with({.variable = "summary"}).settings.mode, Mode::kSummary);
  EXPECT_EQ(decide_with({}, site_with({"default=summary"})).settings.mode, Mode::kSummary);
}

TEST(Activation, EachBeatsAllThatFollow) {
  SiteConfig site = site_with({"default=summary"});
  ActivationInputs inputs = {.srun_profile = "none", .option = "trace", .profile = "Task", .variable = "trace"};
  EXPECT_EQ(decide_with(inputs, site).by, DecidedBy::kSrunProfile);
  EXPECT_FALSE(decide_with(inputs, site).is_active());
  inputs.srun_profile = nullptr;
  inputs.option = "off";
  EXPECT_EQ(decide_with(inputs, site).by, DecidedBy::kOption);
  EXPECT_FALSE(decide_with(inputs, site).is_active());
  inputs.option = nullptr;
  inputs.profile = "None";
  EXPECT_EQ(decide_with(inputs, site).by, DecidedBy::kProfile);
  EXPECT_FALSE(decide_with(inputs, site).is_active());
  inputs.profile = nullptr;
  inputs.variable = "off";
  EXPECT_EQ(decide_with(inputs, site).by, DecidedBy::kVariable);
  EXPECT_FALSE(decide_with(inputs, site).is_active());
  inputs.variable = nullptr;
  EXPECT_EQ(decide_with(inputs, site).by, DecidedBy::kSite);
  EXPECT_TRUE(decide_with(inputs, site).is_active());
}

TEST(Activation, ProfileNamesInAnyCase) {
  for (const char *none : {"none", "None", "NONE"}) EXPECT_FALSE(decide_with({.profile = none}).is_active()) << none;
  for (const char *some : {"task", "Task", "All", "all", "network", "Energy,Task", "none,task"})
    EXPECT_TRUE(decide_with({.profile = some}).is_active()) << some;
  EXPECT_EQ(decide_with({.profile = ""}).by, DecidedBy::kNobody);
}

TEST(Activation, ThePluginsOwnVariableIsNotTheUsers) {
  EXPECT_FALSE(decide_with({.variable = "trace", .variable_set = "trace"}).is_active());
  EXPECT_EQ(decide_with({.variable = "summary", .variable_set = "trace"}).settings.mode, Mode::kSummary);
}

TEST(Activation, AMalformedTextNeverActivates) {
  Decision decision = decide_with({.option = "trace,sample=fast"}, site_with({"default=trace"}));
  EXPECT_FALSE(decision.is_active());
  EXPECT_THAT(decision.problem, HasSubstr("--slurmscope: sample=fast"));
  decision = decide_with({.variable = "sometimes"});
  EXPECT_FALSE(decision.is_active());
  EXPECT_THAT(decision.problem, HasSubstr("SLURMSCOPE: 'sometimes'"));
  // A bad variable is skipped, so the site default still applies.
  EXPECT_EQ(decide_with({.variable = "sometimes"}, site_with({"default=summary"})).by, DecidedBy::kSite);
}

TEST(Activation, SiteSettingsAreTheBaseOfAUsers) {
  SiteConfig site = site_with({"default=summary,ring_kib=128,io_calls=9", "output=/scratch/%u"});
  Settings settings = decide_with({.option = "trace,io_calls=10"}, site).settings;
  EXPECT_EQ(settings.mode, Mode::kTrace);
  EXPECT_EQ(settings.ring_kib, 128U);
  EXPECT_EQ(settings.io_calls, 10U);
  EXPECT_STREQ(settings.output, "/scratch/%u");
}

TEST(Activation, SiteDefaultByPartition) {
  SiteConfig site = site_with({"default=summary", "partitions=virtual,fat"});
  EXPECT_TRUE(decide_with({.partition = "virtual"}, site).is_active());
  EXPECT_TRUE(decide_with({.partition = "fat"}, site).is_active());
  EXPECT_FALSE(decide_with({.partition = "virt"}, site).is_active());
  EXPECT_FALSE(decide_with({.partition = nullptr}, site).is_active());
  EXPECT_TRUE(decide_with({.option = "trace", .partition = "virt"}, site).is_active());
}

TEST(SiteLimits, AUsersWishAboveThemIsLoweredWithOneSentence) {
  SiteConfig site = site_with({"default=summary,ring_kib=8192", "limits=ring_kib=1024,sample=99"});
  ASSERT_STREQ(site.problem, "");
  Decision decision = decide_with({.option = "trace,sample=500"}, site);
  EXPECT_EQ(decision.settings.mode, Mode::kTrace);
  EXPECT_EQ(decision.settings.sample, 99U);
  EXPECT_EQ(decision.settings.ring_kib, 1024U);
  EXPECT_STREQ(decision.problem, "--slurmscope: lowered to this site's limit: sample=99")
      << "what the user did not say is lowered without a word";
  EXPECT_TRUE(decision.is_notice);
  decision = decide_with({.option = "summary,ring_kib=128"}, site);
  EXPECT_EQ(decision.settings.ring_kib, 128U);
  EXPECT_STREQ(decision.problem, "");
  EXPECT_FALSE(decision.is_notice);
  decision = decide_with({}, site);
  EXPECT_EQ(decision.settings.ring_kib, 1024U);
  EXPECT_STREQ(decision.problem, "");
}

TEST(SiteLimits, OfTheMode) {
  SiteConfig site = site_with({"limits=summary", "limits=max_trace_mib=10"});
  for (const ActivationInputs &inputs : {ActivationInputs{.option = ""}, {.profile = "all"}, {.variable = "trace"}, {.srun_profile = "task"}}) {
    Decision decision = decide_with(inputs, site);
    EXPECT_EQ(decision.settings.mode, Mode::kSummary);
    EXPECT_THAT(decision.problem, HasSubstr("lowered to this site's limit: summary"));
  }
  EXPECT_FALSE(decide_with({.option = "off"}, site).is_active());
  EXPECT_STREQ(decide_with({.option = "off"}, site).problem, "");
  EXPECT_FALSE(decide_with({.option = "trace"}, site_with({"limits=off"})).is_active());
}

TEST(SiteLimits, AreNumbersOrAMode) {
  EXPECT_THAT(site_with({"limits=output=/x"}).problem, HasSubstr("output is no number"));
  EXPECT_THAT(site_with({"limits=ring_kib=many"}).problem, HasSubstr("ring_kib=many"));
  SiteConfig site = site_with({"limits=summary,nonsense"});
  EXPECT_THAT(site.problem, HasSubstr("limits=summary,nonsense: 'nonsense'"));
  EXPECT_EQ(decide_with({.option = ""}, site).settings.mode, Mode::kTrace) << "a limit that is not understood is none";
}

TEST(SiteSkip, IsAddedToAUsersOwn) {
  SiteConfig site = site_with({"default=summary,skip=base", "skip=bash+git"});
  EXPECT_STREQ(decide_with({}, site).settings.skip, "bash+git+base");
  EXPECT_STREQ(decide_with({.option = "trace,skip=git+mine"}, site).settings.skip, "bash+git+mine");
  EXPECT_STREQ(decide_with({.option = "trace,skip="}, site).settings.skip, "bash+git");
  Decision decision = decide_with({.option = ("trace,skip=" + std::string(1020, 'x')).c_str()}, site);
  EXPECT_STREQ(decision.settings.skip, "bash+git");
  EXPECT_THAT(decision.problem, HasSubstr("skip is cut"));
}

TEST(SiteConfig, AFileThatOthersCouldHaveWrittenIsNotRead) {  // (K15, K23)
  char path[] = "/tmp/slurmscope-site-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "default=trace\n";
  auto read = [&] { return site_with({std::string("conf=") + path}); };
  EXPECT_EQ(read().settings.mode, Mode::kTrace);
  for (mode_t mode : {0664U, 0646U, 0666U}) {
    chmod(path, mode);
    EXPECT_EQ(read().settings.mode, Mode::kOff) << mode;
    EXPECT_THAT(read().problem, HasSubstr("must belong to root and be writable by nobody else"));
  }
  chmod(path, 0644);
  if (getuid() == 0) {
    ASSERT_EQ(chown(path, 65534, 65534), 0);
    EXPECT_EQ(read().settings.mode, Mode::kOff);
  }
  unlink(path);
  ASSERT_EQ(mkfifo(path, 0600), 0);
  EXPECT_THAT(read().problem, HasSubstr("no regular file")) << "and it does not wait for a writer";
  unlink(path);
}

TEST(SiteConfig, KeepsGoingAfterABadWord) {
  SiteConfig site = site_with({"foo=1", "bar", "wait=0", "spool=relative", "wait=5", "default=often", "spool=/run/s"});
  EXPECT_THAT(site.problem, HasSubstr("unknown key 'foo'"));
  EXPECT_EQ(site.wait_seconds, 5U);
  EXPECT_STREQ(site.spool, "/run/s");
  EXPECT_EQ(site.settings.mode, Mode::kOff);
}

TEST(SiteConfig, NamesWhatIsWrong) {
  EXPECT_THAT(site_with({"wait=601"}).problem, HasSubstr("wait=601: a number from 1 to 600"));
  EXPECT_THAT(site_with({"wait=5x"}).problem, HasSubstr("wait=5x"));
  EXPECT_THAT(site_with({"libdir=lib"}).problem, HasSubstr("absolute"));
  EXPECT_THAT(site_with({"default=often"}).problem, HasSubstr("'often'"));
  EXPECT_THAT(site_with({"alone"}).problem, HasSubstr("'alone' is not key=value"));
  EXPECT_THAT(site_with({"partitions=" + std::string(5000, 'p')}).problem, HasSubstr("too long"));
  EXPECT_THAT(site_with({"conf=/no/such/file"}).problem, HasSubstr("/no/such/file: No such file"));
  EXPECT_STREQ(site_with({"default=trace", "wait=600", "spool=/x", "libdir=/y", "partitions=a"}).problem, "");
}

TEST(SiteConfig, ReadsAFile) {
  char path[] = "/tmp/slurmscope-site-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "# comment\n\n  default=summary,skip=a+b  # why\n" << std::string(9000, 'x') << "\nnonsense\nwait=7";
  SiteConfig site = site_with({"wait=3", std::string("conf=") + path});
  unlink(path);
  EXPECT_EQ(site.settings.mode, Mode::kSummary);
  EXPECT_STREQ(site.settings.skip, "a+b");
  EXPECT_EQ(site.wait_seconds, 7U);
  EXPECT_THAT(site.problem, HasSubstr(":4: the line is longer"));
}

SrunFlags flags_of(std::vector<const char *> words, std::vector<const char *> command) {
  return find_srun_flags(words.data(), static_cast<int>(words.size()), command.data(), static_cast<int>(command.size()));
}

TEST(SrunArguments, FindsProfileInEveryForm) {
  EXPECT_STREQ(flags_of({"srun", "--profile=task", "a"}, {"/bin/a"}).profile, "task");
  EXPECT_STREQ(flags_of({"srun", "--profile", "none", "a"}, {"/bin/a"}).profile, "none");
  EXPECT_STREQ(flags_of({"srun", "--prof=all", "-n", "2", "./a", "x"}, {"/w/a", "x"}).profile, "all");
  EXPECT_STREQ(flags_of({"srun", "--profile=all", "--profile=none", "a"}, {"a"}).profile, "none");
  EXPECT_EQ(flags_of({"srun", "-n2", "a"}, {"a"}).profile, nullptr);
}

TEST(SrunArguments, IgnoresTheCommandsOwn) {
  EXPECT_EQ(flags_of({"srun", "a", "--profile=task"}, {"/bin/a", "--profile=task"}).profile, nullptr);
  EXPECT_EQ(flags_of({"srun", "-J", "a", "a", "--profile", "x"}, {"/bin/a", "--profile", "x"}).profile, nullptr);
  EXPECT_FALSE(flags_of({"srun", "a", "--slurmscope"}, {"a", "--slurmscope"}).has_slurmscope);
  // A command that is not found on the line: better nothing than the application's.
  EXPECT_EQ(flags_of({"srun", "--multi-prog", "--profile=task", "f"}, {"other"}).profile, nullptr);
  EXPECT_EQ(flags_of({"srun", "--profile=task"}, {}).profile, nullptr);
}

TEST(SrunArguments, OptionsThatOnlyLookAlike) {
  EXPECT_EQ(flags_of({"srun", "--prolog=task", "--pro", "--propagate=none", "a"}, {"a"}).profile, nullptr);
  EXPECT_FALSE(flags_of({"srun", "--slurmd-debug=3", "a"}, {"a"}).has_slurmscope);
  EXPECT_TRUE(flags_of({"srun", "--slurmscope=off", "a"}, {"a"}).has_slurmscope);
  EXPECT_TRUE(flags_of({"srun", "--slurmscope", "a"}, {"a"}).has_slurmscope);
}

TEST(SrunArguments, ComponentsHaveTheirOwnOptions) {
  std::vector<const char *> words = {"srun", "--profile=task", "a", ":", "-n2", "b", "1"};
  EXPECT_STREQ(flags_of(words, {"/bin/a"}).profile, "task");
  EXPECT_EQ(flags_of(words, {"/bin/b", "1"}).profile, nullptr);
}

TEST(SrunArguments, ReadsItsOwnCommandLine) {
  HeapText text;
  const char *words[64];
  ASSERT_GE(read_own_command_line(&text, words, 64), 1);
  EXPECT_THAT(words[0], HasSubstr("spank"));
}

std::string with(const char *list, const char *library) {
  HeapText result;
  preload_with(list, library, &result);
  return result.c_str();
}

TEST(PreloadList, OursFirstAndOnceOthersKept) {
  EXPECT_EQ(with(nullptr, "/l/s.so"), "/l/s.so");
  EXPECT_EQ(with("", "/l/s.so"), "/l/s.so");
  EXPECT_EQ(with("a.so b.so:c.so", "/l/s.so"), "/l/s.so:a.so:b.so:c.so");
  EXPECT_EQ(with("a.so:/l/s.so::b.so:/l/s.so", "/l/s.so"), "/l/s.so:a.so:b.so");
  EXPECT_EQ(with("/l/s.so.1:/l/s", "/l/s.so"), "/l/s.so:/l/s.so.1:/l/s");
  std::string many(6000, 'x');
  EXPECT_EQ(with(many.c_str(), "/l/s.so"), "/l/s.so:" + many);
}

TEST(PreloadList, TakesOursAway) {
  HeapText result;
  EXPECT_TRUE(preload_without("/l/s.so:a.so", "/l/s.so", &result));
  EXPECT_STREQ(result.c_str(), "a.so");
  EXPECT_TRUE(preload_without("/l/s.so", "/l/s.so", &result));
  EXPECT_STREQ(result.c_str(), "");
  EXPECT_FALSE(preload_without("a.so", "/l/s.so", &result));
  EXPECT_FALSE(preload_without(nullptr, "/l/s.so", &result));
}

struct Names : ::testing::Test {
  StepFacts facts;
  void SetUp() override {
    facts.user.uid = 1000;
    facts.leader_id = facts.job_id = 12;
    copy_text(facts.step, "0");
  }
  std::string spool() {
    HeapText name;
    spool_name(facts, &name);
    return name.c_str();
  }
  std::string file() {
    HeapText name;
    trace_name(facts, "bm1", &name);
    return name.c_str();
  }
  std::string output(const char *pattern) {
    HeapText path;
    expand_output(pattern, facts, "/home/u", &path);
    return path.c_str();
  }
};

TEST_F(Names, TellStepsRestartsAndComponentsApart) {
  EXPECT_EQ(spool(), "slurmscope-1000-12.0");
  EXPECT_EQ(file(), "step0.bm1");
  facts.restart = 2;
  EXPECT_EQ(spool(), "slurmscope-1000-12.0.2");
  EXPECT_EQ(file(), "step0.bm1.restart2");
  facts.is_het = true;
  facts.het_group = 1;
  EXPECT_EQ(spool(), "slurmscope-1000-12.0.2+1");
  EXPECT_EQ(file(), "step0.bm1.het1.restart2");
  copy_text(facts.step, "batch");
  EXPECT_EQ(file(), "batch.bm1.het1.restart2");
}

TEST_F(Names, ExpandTheOutput) {
  facts.job_name.set("../a/b");
  facts.user_name.set("me");
  EXPECT_EQ(output(""), "/home/u/slurmscope-12");
  EXPECT_EQ(output("runs/%x"), "/home/u/runs/.._a_b");
  EXPECT_EQ(output("/scratch/%u/%j%%%q%"), "/scratch/me/12%%q%");
  facts.job_name.set("..");
  EXPECT_EQ(output("/s/%x"), "/s/_..");
  facts.user_name.clear();
  EXPECT_EQ(output("/s/%u"), "/s/1000");
}

TEST(Info, AValueStaysOnItsLine) {
  HeapText info;
  append_info(&info, "job_name", "a\nuid=0\r\t\x7f\x01z");
  EXPECT_STREQ(info.c_str(), "job_name=a?uid=0????z\n");
}

}  // namespace
}  // namespace slurmscope
