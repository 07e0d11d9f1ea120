// The hooks of the plugin over a fake Slurm: order, repetition, trouble, environment, bounded waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/child.h"
#include "spank/job_environment.h"
#include "tests/unit/fake_spank.h"

extern "C" {
int slurm_spank_init(spank_t, int, char **);
int slurm_spank_local_user_init(spank_t, int, char **);
int slurm_spank_user_init(spank_t, int, char **);
int slurm_spank_task_init(spank_t, int, char **);
int slurm_spank_task_exit(spank_t, int, char **);
int slurm_spank_exit(spank_t, int, char **);
}

namespace slurmscope::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The state of the plugin is that of one process, which serves one step: each test runs in a fork.
#define IN_A_PROCESS(body)                                                       \
  do {                                                                           \
    pid_t pid = fork();                                                          \
    if (pid == 0) {                                                              \
      body;                                                                      \
      _exit(::testing::Test::HasFailure() ? 1 : 0);                              \
    }                                                                            \
    int status = 0;                                                              \
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}                    \
    EXPECT_EQ(status, 0) << "see the failures of the process above";             \
  } while (0)

struct Hooks : ::testing::Test {
  fs::path base;
  spank_handle step;
  std::vector<std::string> words;

  void SetUp() override {
    char pattern[] = "/tmp/slurmscope-hooks-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    base = pattern;
    chmod(pattern, 0755);
    for (const char *folder : {"lib", "spool", "job"}) fs::create_directory(base / folder);
    write("lib/libslurmscope.so", "");
    drainer("echo \"$@\" >>$(dirname $0)/../job/calls; [ $1 = --finish ] && cp -r $2 $(dirname $0)/../job/kept && rm -r $2; exit 0");
    step.uid = getuid();
    step.gid = getgid();
    step.items = {{S_JOB_ID, 42}, {S_JOB_STEPID, 0}, {S_JOB_NNODES, 1}, {S_JOB_NODEID, 0}, {S_JOB_TOTAL_TASK_COUNT, 2}};
    step.local_tasks = 2;
    step.arguments = {"./a.out", "line\nbreak"};
    step.variables = {{"SLURM_SUBMIT_DIR", (base / "job").string()}, {"SLURM_JOB_NAME", "evil\nuid=0"}};
    words = {"libdir=" + (base / "lib").string(), "spool=" + (base / "spool").string(), "wait=2"};
    fake_context = S_CTX_REMOTE;
    fake_log.clear();
    fake_options.clear();
  }
  void TearDown() override { fs::remove_all(base); }

  void write(const char *name, const std::string &text) { std::ofstream(base / name) << text; }
  void drainer(const std::string &script) {
    write("lib/slurmscope-drain", "#!/bin/sh\n" + script + "\n");
    fs::permissions(base / "lib/slurmscope-drain", fs::perms(0755));
  }
  std::string read(const char *name) {
    std::ostringstream text;
    text << std::ifstream(base / name).rdbuf();
    return text.str();
  }
  int call(int (*hook)(spank_t, int, char **), spank_t handle) {
    std::vector<char *> list;
    for (std::string &word : words) list.push_back(word.data());
    return hook(handle, static_cast<int>(list.size()), list.data());
  }
  int call(int (*hook)(spank_t, int, char **)) { return call(hook, &step); }
  int option(const char *value, int remote) {
    call(slurm_spank_init);
    return fake_options.at(0).cb(0, value, remote);
  }
  void end_task(int task, int status) {
    step.task = task;
    step.exit_status = status;
    step.task_pid = 1000 + task;
    EXPECT_EQ(call(slurm_spank_task_exit), 0);
  }
};

TEST_F(Hooks, AWholeStep) {
  IN_A_PROCESS({
    EXPECT_EQ(option("summary", 1), 0);
    EXPECT_EQ(call(slurm_spank_user_init), 0);
    EXPECT_THAT(fake_log, IsEmpty());
    std::string spool = (base / "spool/slurmscope-").string() + std::to_string(getuid()) + "-42.0";
    struct stat status;
    EXPECT_EQ(stat(spool.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U);
    step.task = 0;
    step.variables["LD_PRELOAD"] = "/mine.so";
    EXPECT_EQ(call(slurm_spank_task_init), 0);
    EXPECT_EQ(step.variables["LD_PRELOAD"], (base / "lib/libslurmscope.so").string() + ":/mine.so");
    EXPECT_EQ(step.variables["SLURMSCOPE"], "summary");
    EXPECT_EQ(step.variables["SLURMSCOPE_SPOOL"], spool);
    end_task(1, 256);
    EXPECT_TRUE(fs::exists(spool)) << "finished before the last task";
    end_task(0, 9);
    EXPECT_FALSE(fs::exists(spool));
    EXPECT_EQ(call(slurm_spank_exit), 0);
    EXPECT_THAT(fake_log, IsEmpty());
    EXPECT_EQ(read("job/calls"), "--spool " + spool + "\n--finish " + spool + " --timeout 2\n");
    EXPECT_EQ(read("job/kept/tasks"), "task=11 pid=1001 status=256\ntask=10 pid=1000 status=9\n");
    std::string info = read("job/kept/step.info");
    for (const char *line : {"job=42\n", "step=0\n", "local_tasks=10,11\n", "tasks=2\n", "settings=summary\n",
                             "command=./a.out line?break\n", "job_name=evil?uid=0\n", "starter=slurm\n"})
      EXPECT_THAT(info, HasSubstr(line));
    EXPECT_THAT(info, HasSubstr("starter_pid=" + std::to_string(getpid()) + "\n"));
    EXPECT_THAT(info, HasSubstr("output=" + (base / "job/slurmscope-42").string() + "\n"));
    EXPECT_EQ(info.find("\nuid="), info.rfind("\nuid=")) << "the job's name made a line of its own";
  });
}

// A relative output is in the directory of the job, whatever its programs change to. (E13)
TEST_F(Hooks, ARelativeOutputIsMadeAbsoluteAtTheStart) {
  IN_A_PROCESS({
    EXPECT_EQ(option("summary,output=runs/%j", 1), 0);
    EXPECT_EQ(call(slurm_spank_user_init), 0);
    end_task(1, 0);
    end_task(0, 0);
    EXPECT_EQ(call(slurm_spank_exit), 0);
    EXPECT_THAT(fake_log, IsEmpty());
    EXPECT_THAT(read("job/kept/step.info"), HasSubstr("output=" + (base / "job/runs/42").string() + "\n"));
  });
}

TEST_F(Hooks, AnyOrderAnyContextNoHandle) {  // (K11, K25)
  IN_A_PROCESS({
    for (int context = S_CTX_ERROR; context <= S_CTX_JOB_SCRIPT; context++) {
      fake_context = static_cast<spank_context_t>(context);
      for (auto hook : {slurm_spank_exit, slurm_spank_task_exit, slurm_spank_task_init, slurm_spank_user_init,
                        slurm_spank_local_user_init, slurm_spank_init, slurm_spank_exit, slurm_spank_user_init}) {
        EXPECT_EQ(call(hook, nullptr), 0);
        EXPECT_EQ(hook(nullptr, 0, nullptr), 0);
        EXPECT_EQ(call(hook), 0);
      }
    }
    EXPECT_THAT(fs::is_empty(base / "spool"), true);
    EXPECT_THAT(fs::exists(base / "job/calls"), false);
  });
}

TEST_F(Hooks, ASecondUserInitIsTheSameStep) {
  IN_A_PROCESS({
    option("", 1);
    call(slurm_spank_user_init);
    call(slurm_spank_user_init);
    EXPECT_EQ(std::distance(fs::directory_iterator(base / "spool"), fs::directory_iterator()), 1);
    EXPECT_EQ(call(slurm_spank_exit), 0);
    EXPECT_EQ(call(slurm_spank_exit), 0);
    EXPECT_TRUE(fs::is_empty(base / "spool"));
  });
}

TEST_F(Hooks, TheCallbackMayComeTwice) {  // (K8)
  IN_A_PROCESS({
    EXPECT_EQ(option(nullptr, 1), 0);
    EXPECT_EQ(fake_options[0].cb(0, "", 1), 0);
    call(slurm_spank_user_init);
    call(slurm_spank_task_init);
    EXPECT_EQ(step.variables["SLURMSCOPE"], "trace");
    call(slurm_spank_exit);
  });
}

TEST_F(Hooks, OnlyAMalformedOptionIsAnErrorAndOnlyAtSubmit) {
  IN_A_PROCESS({
    fake_context = S_CTX_ALLOCATOR;
    EXPECT_EQ(option("trace,sample=99", 0), 0);
    EXPECT_EQ(fake_options[0].cb(0, "(null)", 0), 0);
    EXPECT_EQ(option("everything", 0), -1);
    EXPECT_THAT(fake_log, Contains(HasSubstr("--slurmscope=everything")));
    EXPECT_EQ(option(std::string(5000, 'x').c_str(), 0), -1);
    EXPECT_EQ(option("everything", 1), 0);
    fake_log.clear();
    fake_context = S_CTX_REMOTE;
    EXPECT_EQ(call(slurm_spank_user_init), 0);
    EXPECT_THAT(fake_log, Contains(HasSubstr("--slurmscope: 'everything'")));
    EXPECT_TRUE(fs::is_empty(base / "spool"));
  });
}

TEST_F(Hooks, TheBatchStepFallsBackOnTheVariable) {  // (K7)
  for (const char *value : {"", "(null)", "trace"}) {
    IN_A_PROCESS({
      step.items[S_JOB_STEPID] = 0xfffffffbU;
      step.variables["SLURM_SPANK__SLURM_SPANK_OPTION_slurmscope_slurmscope"] = value;
      call(slurm_spank_user_init);
      call(slurm_spank_task_init);
      EXPECT_EQ(step.variables["SLURMSCOPE"], "trace") << value;
      EXPECT_THAT(step.variables["SLURMSCOPE_SPOOL"], HasSubstr("-42.batch"));
      EXPECT_EQ(step.variables["SLURM_SLURMSCOPE_WORKDIR"], fs::current_path().string());
      call(slurm_spank_exit);
    });
  }
}

TEST_F(Hooks, TheDaemonsOwnEnvironmentIsNotTheJobs) {  // (K9)
  IN_A_PROCESS({
    for (const char *name : {"SLURMSCOPE", "SLURM_PROFILE", "SLURM_SLURMSCOPE_PROFILE"}) setenv(name, "trace", 1);
    call(slurm_spank_user_init);
    EXPECT_TRUE(fs::is_empty(base / "spool"));
    step.variables["SLURMSCOPE"] = "summary";
    call(slurm_spank_user_init);
    call(slurm_spank_task_init);
    EXPECT_EQ(step.variables["SLURMSCOPE"], "summary");
    call(slurm_spank_exit);
  });
}

TEST_F(Hooks, TheExternStepIsSkipped) {
  IN_A_PROCESS({
    step.items[S_JOB_STEPID] = 0xfffffffcU;
    option("", 1);
    call(slurm_spank_user_init);
    EXPECT_TRUE(fs::is_empty(base / "spool"));
  });
}

TEST_F(Hooks, ATakenNameIsNotUsed) {  // (L1, L8)
  IN_A_PROCESS({
    std::string name = "slurmscope-" + std::to_string(getuid()) + "-42.0";
    fs::create_directory(base / "victim");
    fs::create_directory_symlink(base / "victim", base / "spool" / name);
    option("", 1);
    call(slurm_spank_user_init);
    call(slurm_spank_task_init);
    EXPECT_EQ(step.variables["SLURMSCOPE_SPOOL"], (base / "spool" / (name + "~2")).string());
    EXPECT_TRUE(fs::is_empty(base / "victim"));
    call(slurm_spank_exit);
    EXPECT_TRUE(fs::is_empty(base / "victim"));
  });
}

TEST_F(Hooks, AMissingLibraryIsOneLine) {
  IN_A_PROCESS({
    fs::remove(base / "lib/libslurmscope.so");
    option("", 1);
    EXPECT_EQ(call(slurm_spank_user_init), 0);
    EXPECT_EQ(call(slurm_spank_task_init), 0);
    EXPECT_EQ(call(slurm_spank_task_exit), 0);
    EXPECT_EQ(call(slurm_spank_exit), 0);
    EXPECT_EQ(fake_log.size(), 1U);
    EXPECT_THAT(fake_log[0], HasSubstr("libslurmscope.so"));
    EXPECT_EQ(step.variables.count("LD_PRELOAD"), 0U);
    EXPECT_TRUE(fs::is_empty(base / "spool"));
  });
}

TEST_F(Hooks, OneNodeTellsTheUserTheOthersTheirLogs) {  // (L3)
  fs::remove(base / "lib/libslurmscope.so");
  for (uint32_t node : {0U, 1U}) {
    IN_A_PROCESS({
      step.items[S_JOB_NODEID] = node;
      option("", 1);
      call(slurm_spank_user_init);
      EXPECT_EQ(fake_log.size(), 1U);
      EXPECT_THAT(fake_log[0], HasSubstr(node == 0 ? "error: slurmscope: couldn't use" : "info: slurmscope: couldn't use"));
    });
  }
}

TEST_F(Hooks, ALimitIsANoticeAndTroubleIsStillTold) {
  IN_A_PROCESS({
    words.push_back("limits=sample=10");
    drainer("[ $1 = --finish ] && echo no room >&2 && exit 1; exit 0");
    option("sample=99", 1);
    call(slurm_spank_user_init);
    EXPECT_EQ(fake_log.size(), 1U);
    EXPECT_THAT(fake_log[0], HasSubstr("error: slurmscope: --slurmscope: lowered to this site's limit: sample=10"));
    step.task = 0;
    call(slurm_spank_task_init);
    EXPECT_EQ(step.variables["SLURMSCOPE"], "trace,sample=10");
    call(slurm_spank_exit);
    EXPECT_EQ(fake_log.size(), 2U);
    EXPECT_THAT(fake_log[1], HasSubstr("error: slurmscope: couldn't finish the trace: no room"));
  });
}

TEST_F(Hooks, ALibraryThatCannotBeNamedInLdPreload) {
  for (const char *folder : {"with blank", "with:colon"}) {
    IN_A_PROCESS({
      fs::copy(base / "lib", base / folder);
      words[0] = "libdir=" + (base / folder).string();
      option("", 1);
      call(slurm_spank_user_init);
      EXPECT_EQ(fake_log.size(), 1U);
      EXPECT_THAT(fake_log[0], HasSubstr("LD_PRELOAD takes no path with a blank or a colon"));
      EXPECT_TRUE(fs::is_empty(base / "spool"));
    });
  }
}

TEST_F(Hooks, ASpoolInWhichOthersMayRenameIsNotUsed) {  // (L1)
  IN_A_PROCESS({
    chmod((base / "spool").c_str(), 0777);
    option("", 1);
    call(slurm_spank_user_init);
    EXPECT_EQ(fake_log.size(), 1U);
    EXPECT_THAT(fake_log[0], HasSubstr("its mode must be 1777"));
    EXPECT_TRUE(fs::is_empty(base / "spool"));
    chmod((base / "spool").c_str(), 01777);
    call(slurm_spank_user_init);
    EXPECT_FALSE(fs::is_empty(base / "spool"));
    call(slurm_spank_exit);
  });
}

TEST_F(Hooks, ASiteDefaultThatFailsSaysSoInTheLogOnly) {
  IN_A_PROCESS({
    words.push_back("default=summary");
    drainer("echo no memory >&2; exit 4");
    call(slurm_spank_user_init);
    EXPECT_EQ(fake_log.size(), 1U);
    EXPECT_THAT(fake_log[0], HasSubstr("info: slurmscope: couldn't start the drainer: no memory (exit code 4)"));
    EXPECT_TRUE(fs::is_empty(base / "spool"));
  });
}

TEST_F(Hooks, AnUnprofiledStepTakesTheOuterStepsVariablesAway) {
  IN_A_PROCESS({
    std::string library = (base / "lib/libslurmscope.so").string();
    step.variables["LD_PRELOAD"] = library + ":/mine.so";
    step.variables["SLURMSCOPE"] = step.variables["SLURM_SLURMSCOPE_SET"] = "trace";
    step.variables["SLURMSCOPE_SPOOL"] = "/dev/shm/x";
    step.variables["SLURM_SLURMSCOPE_PROFILE"] = "none";
    option("trace", 1);
    call(slurm_spank_user_init);
    call(slurm_spank_task_init);
    EXPECT_EQ(step.variables["LD_PRELOAD"], "/mine.so");
    for (const char *name : {"SLURMSCOPE", "SLURMSCOPE_SPOOL", "SLURM_SLURMSCOPE_SET", "SLURM_SLURMSCOPE_PROFILE"})
      EXPECT_EQ(step.variables.count(name), 0U) << name;
  });
}

TEST_F(Hooks, ADrainerThatHangsDelaysTheEndByItsBoundOnly) {
  IN_A_PROCESS({
    drainer("[ $1 = --finish ] && exec sleep 60; exit 0");
    words[2] = "wait=1";
    option("", 1);
    call(slurm_spank_user_init);
    auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(call(slurm_spank_exit), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(8));
    EXPECT_THAT(fake_log, Contains(HasSubstr("took longer than 3 s")));
    EXPECT_THAT(fake_log, Contains(HasSubstr("what is left is in")));
  });
}

TEST_F(Hooks, LongValuesAreReadWhole) {  // (K10)
  step.variables["LONG"] = std::string(100000, 'x');
  HeapText value;
  EXPECT_TRUE(read_variable(&step, "LONG", &value));
  EXPECT_EQ(value.size(), 100000U);
  EXPECT_FALSE(read_variable(&step, "ABSENT", &value));
  EXPECT_EQ(value.or_null(), nullptr);
}

TEST_F(Hooks, TheChildIsTheUserAndInheritsNothing) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  gid_t groups[] = {65534};
  UserIds nobody = {65534, 65534, groups, 1};
  int kept = open("/dev/null", O_RDONLY);
  char report[256] = "", error[256] = "";
  auto work = +[](void *context, char *text, size_t size) -> size_t {
    uid_t real, effective, saved;
    getresuid(&real, &effective, &saved);
    bool is_closed = fcntl(*static_cast<int *>(context), F_GETFD) < 0;
    return static_cast<size_t>(snprintf(text, size, "%u %u %u groups %d closed %d root again %d", real, effective, saved,
                                        getgroups(0, nullptr), is_closed, seteuid(0) == 0));
  };
  EXPECT_GT(run_as_user(nobody, 5, work, &kept, report, sizeof report - 1, error, sizeof error), 0) << error;
  EXPECT_STREQ(report, "65534 65534 65534 groups 1 closed 1 root again 0");
  close(kept);
}

TEST_F(Hooks, AChildThatHangsOrDiesIsReported) {  // (K12, K22)
  UserIds me = {getuid(), getgid(), nullptr, 0};
  char report[16], error[256] = "";
  auto hang = +[](void *, char *, size_t) -> size_t { pause(); return 0; };
  EXPECT_EQ(run_as_user(me, 1, hang, nullptr, report, sizeof report, error, sizeof error), -1);
  EXPECT_STREQ(error, "gave up after 1 s");
  auto die = +[](void *, char *, size_t) -> size_t { abort(); };
  EXPECT_EQ(run_as_user(me, 5, die, nullptr, report, sizeof report, error, sizeof error), -1);
  EXPECT_THAT(error, HasSubstr("ended early"));
}

}  // namespace
}  // namespace slurmscope::testing
