// Start of a step: runs in the child that is the user, from the decision to the drainer's ready byte.
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/activation.h"
#include "spank/step.h"

namespace slurmscope {
namespace {

constexpr int kStartSeconds = 10;     // for the drainer to be ready
constexpr int kSpoolAttempts = 100;   // names tried when they are taken

struct StartWork {
  const StepFacts &facts;
  const SiteConfig &site;
  const char *libdir;
};

__attribute__((format(printf, 2, 3))) bool say(StartReport *report, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report->message, sizeof report->message, format, arguments);
  va_end(arguments);
  return false;
}

// ld.so separates the entries of LD_PRELOAD at these.
bool can_be_preloaded(const char *libdir, StartReport *report) {
  if (strpbrk(libdir, ": ") == nullptr) return true;
  return say(report, "couldn't preload from %.400s: LD_PRELOAD takes no path with a blank or a colon (have libdir= "
             "name a link to it); the step is not profiled", libdir);
}

bool can_use(const char *libdir, const char *name, int mode, StartReport *report) {
  HeapText path;
  path.append("%s/%s", libdir, name);
  if (access(path.c_str(), mode) == 0) return true;
  return say(report, "couldn't use %.400s as the job's user: %s; the step is not profiled", path.c_str(),
             strerror(errno));
}

// In a directory in which others may rename, a spool could be replaced under the drainer.
bool is_safe_for_spools(const StartWork &work, StartReport *report) {
  struct stat status;
  bool is_open = stat(work.site.spool, &status) == 0 && (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  return !is_open || say(report, "couldn't use spool=%.300s: others may rename what is in it (its mode must be 1777); "
                         "the step is not profiled", work.site.spool);
}

// Never uses what exists: whoever made it may own what is in it.
bool make_spool(const StartWork &work, StartReport *report) {
  HeapText name;
  spool_name(work.facts, &name);
  for (int attempt = 0; attempt < kSpoolAttempts; attempt++) {
    HeapText path;
    path.append("%s/%s", work.site.spool, name.c_str());
    if (attempt > 0) path.append("~%d", attempt + 1);
    if (!copy_text(report->spool, path.c_str())) break;
    if (mkdir(report->spool, 0700) == 0) return true;
    if (errno != EEXIST) break;
  }
  say(report, "couldn't make the spool directory %.300s: %s; the step is not profiled", report->spool,
      strerror(errno));
  report->spool[0] = 0;
  return false;
}

// mpiexec of MPICH passes the batch script's environment on to ranks on other nodes, whatever the step that
// its proxies run in was given. There, a link with the name of the batch step's spool leads to this step's.
void make_alias(const StartWork &work, StartReport *report) {
  const char *inherited = work.facts.spool_variable.or_null();
  if (inherited == nullptr || strcmp(inherited, report->spool) == 0) return;
  HeapText prefix;
  prefix.append("%s/slurmscope-%u-%u.", work.site.spool, static_cast<unsigned>(work.facts.user.uid),
                work.facts.leader_id);
  if (strncmp(inherited, prefix.c_str(), prefix.size()) != 0) return;
  if (strchr(inherited + prefix.size(), '/') != nullptr || strlen(inherited) >= sizeof report->alias) return;
  if (symlink(report->spool, inherited) == 0) copy_text(report->alias, inherited);
}

bool write_info(const StartWork &work, StartReport *report) {
  const StepFacts &facts = work.facts;
  HeapText info;
  info.append_text(facts.info.c_str());
  auto append_if = [&](const char *key, const HeapText &value) {
    if (value.size() > 0) append_info(&info, key, value.c_str());
  };
  append_if("job_name", facts.job_name);
  append_if("user", facts.user_name);
  append_if("partition", facts.partition);
  append_if("node_list", facts.node_list);
  append_if("cluster", facts.cluster);
  append_if("submit_dir", facts.submit_dir);

  char host[256] = "";
  gethostname(host, sizeof host - 1);
  host[strcspn(host, ".")] = 0;
  append_info(&info, "host", host);
  HeapText file, output;
  trace_name(facts, host, &file);
  append_info(&info, "file", file.c_str());
  Settings settings;
  char error[64];
  parse_settings(report->settings, &settings, error, sizeof error);
  expand_output(settings.output, facts, report->work_dir, &output);
  append_info(&info, "output", output.c_str());
  append_info(&info, "settings", report->settings);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  info.append("start_realtime_ns=%lld%09ld\n", static_cast<long long>(now.tv_sec), now.tv_nsec);

  HeapText path;
  path.append("%s/step.info", report->spool);
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool written = fd >= 0 && info.is_complete();
  for (size_t done = 0; written && done < info.size();) {
    ssize_t count = write(fd, info.c_str() + done, info.size() - done);
    if (count > 0) done += static_cast<size_t>(count);
    written = count > 0 || (count < 0 && errno == EINTR);
  }
  int why = errno;
  if (fd >= 0) close(fd);
  return written || say(report, "couldn't write %.400s: %s; the step is not profiled", path.c_str(), strerror(why));
}

bool start_drainer(const StartWork &work, StartReport *report) {
  HeapText program;
  program.append("%s/%s", work.libdir, kDrainerName);
  char name[] = "slurmscope-drain", spool_flag[] = "--spool";
  char *arguments[] = {name, spool_flag, report->spool, nullptr};
  char why[512];
  int code = run_program(program.c_str(), arguments, kStartSeconds, why, sizeof why);
  if (code == 0) return true;
  return say(report, "couldn't start the drainer: %s (exit code %d); the step is not profiled", why, code);
}

// Removes a spool in which nothing but step.info was made.
void remove_spool(StartReport *report) {
  HeapText info;
  info.append("%s/step.info", report->spool);
  unlink(info.c_str());
  rmdir(report->spool);
  if (report->alias[0] != 0) unlink(report->alias);
  report->spool[0] = report->alias[0] = 0;
}

void find_work_dir(const StepFacts &facts, StartReport *report) {
  char here[sizeof report->work_dir] = "/";
  if (getcwd(here, sizeof here) == nullptr) copy_text(here, "/");
  const char *directory = here;
  if (!facts.is_shell_step()) {
    // All steps of a job write to one place, wherever its script has changed to.
    if (facts.work_dir.c_str()[0] == '/')
      directory = facts.work_dir.c_str();
    else if (facts.submit_dir.c_str()[0] == '/')
      directory = facts.submit_dir.c_str();
  }
  copy_text(report->work_dir, directory);
}

size_t start_in_child(void *context, char *bytes, size_t size) {
  const StartWork &work = *static_cast<const StartWork *>(context);
  StartReport report = {};
  Decision decision;
  decide(work.facts.activation_inputs(), work.site, &decision);
  report.is_by_user = decision.is_by_user() || decision.problem[0] != 0;
  if (decision.problem[0] != 0) say(&report, "%s", decision.problem);
  if (decision.is_active()) {
    find_work_dir(work.facts, &report);
    bool usable = can_be_preloaded(work.libdir, &report) && is_safe_for_spools(work, &report) &&
                  can_use(work.libdir, kPreloadName, R_OK, &report) &&
                  can_use(work.libdir, kDrainerName, X_OK, &report);
    report.is_notice = usable && decision.is_notice;
    if (usable && !format_settings(decision.settings, report.settings, sizeof report.settings))
      usable = say(&report, "the settings are longer than %zu bytes; the step is not profiled",
                   sizeof report.settings - 1);
    if (usable && make_spool(work, &report)) {
      make_alias(work, &report);
      report.is_active = write_info(work, &report) && start_drainer(work, &report);
      if (!report.is_active) remove_spool(&report);
    }
    report.is_notice = report.is_notice && report.is_active;
  }
  memcpy(bytes, &report, sizeof report < size ? sizeof report : size);
  return sizeof report;
}

}  // namespace

void start_step(const StepFacts &facts, const SiteConfig &site, const char *libdir, StartReport *report) {
  StartWork work = {facts, site, libdir};
  char error[256] = "";
  StartReport received = {};
  ssize_t size = run_as_user(facts.user, kStartSeconds + 5, start_in_child, &work,
                             reinterpret_cast<char *>(&received), sizeof received, error, sizeof error);
  *report = {};
  if (size != static_cast<ssize_t>(sizeof received)) {
    report->is_by_user = true;
    snprintf(report->message, sizeof report->message, "couldn't start: %s; the step is not profiled",
             size < 0 ? error : "short report");
    return;
  }
  // The child was the user's process: nothing in its texts is relied on but that they end.
  *report = received;
  report->settings[sizeof report->settings - 1] = 0;
  report->spool[sizeof report->spool - 1] = 0;
  report->alias[sizeof report->alias - 1] = 0;
  report->work_dir[sizeof report->work_dir - 1] = 0;
  report->message[sizeof report->message - 1] = 0;
}

}  // namespace slurmscope
