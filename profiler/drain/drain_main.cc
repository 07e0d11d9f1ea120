// slurmscope-drain: one per node and step. Started by the SPANK plugin and by `slurmscope record`; not a
// command for people.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "profiler/drain/supervisor.h"

namespace {

constexpr const char kHelp[] =
    "usage: slurmscope-drain --spool DIR [--foreground]\n"
    "       slurmscope-drain --finish DIR [--timeout SECONDS]\n"
    "       slurmscope-drain --salvage DIR [--output DIR] [--remove]\n"
    "\n"
    "Writes the trace of one step on one node from the shared memory that the profiled\n"
    "processes fill. Started by Slurm's plugin, `slurmscope record` and `slurmscope salvage`.\n"
    "\n"
    "  --spool DIR        follow the spool directory DIR; returns once a daemon does\n"
    "  --foreground       stay in this process until the step has ended\n"
    "  --finish DIR       announce the step's end, wait until all is written, remove DIR\n"
    "  --timeout SECONDS  of --finish: wait no longer than this (default 60)\n"
    "  --salvage DIR      write what a dead drainer left; says on standard output, as key=value\n"
    "                     lines: trace (file), old (written before), loss, running (pids), removed\n"
    "  --output DIR       of --salvage: write into this directory, not where the step wanted it\n"
    "  --remove           of --salvage: remove the spool, if nothing was lost and no process lives\n"
    "  --help             this text\n";

int usage_error(const char *what, const char *argument) {
  fprintf(stderr, "slurmscope-drain: %s%s; see slurmscope-drain --help\n", what, argument);
  return 2;
}

int salvage(const std::string &spool, const std::string &output, bool removes) {
  slurmscope::Salvaged salvaged = slurmscope::salvage_spool(spool, output, removes);
  if (!salvaged.trace.empty()) printf("trace=%s\n", salvaged.trace.c_str());
  if (salvaged.is_old) puts("old=1");
  if (!salvaged.loss.empty()) printf("loss=%s\n", salvaged.loss.c_str());
  for (uint32_t pid : salvaged.running) printf("running=%u\n", pid);
  if (salvaged.is_removed) puts("removed=1");
  return salvaged.loss.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char **arguments) {
  std::string spool, finish, salvaged, output;
  bool is_foreground = false, removes = false;
  unsigned timeout = 60;
  for (int i = 1; i < count; i++) {
    std::string argument = arguments[i];
    bool wants_value = argument == "--spool" || argument == "--finish" || argument == "--timeout" ||
                       argument == "--salvage" || argument == "--output";
    if (argument == "--help") {
      fputs(kHelp, stdout);
      return 0;
    }
    if (argument == "--foreground") {
      is_foreground = true;
      continue;
    }
    if (argument == "--remove") {
      removes = true;
      continue;
    }
    if (!wants_value) return usage_error("unknown argument ", arguments[i]);
    if (++i == count) return usage_error("a value is missing after ", arguments[i - 1]);
    if (argument == "--spool") spool = arguments[i];
    if (argument == "--finish") finish = arguments[i];
    if (argument == "--salvage") salvaged = arguments[i];
    if (argument == "--output") output = arguments[i];
    if (argument == "--timeout") {
      char *end = nullptr;
      unsigned long value = strtoul(arguments[i], &end, 10);
      if (end == arguments[i] || *end != 0 || value > 86400) return usage_error("--timeout wants seconds, not ", arguments[i]);
      timeout = static_cast<unsigned>(value);
    }
  }
  if (!spool.empty() + !finish.empty() + !salvaged.empty() != 1)
    return usage_error("one of --spool, --finish and --salvage is needed", "");
  if (salvaged.empty() && (removes || !output.empty())) return usage_error("--output and --remove are of --salvage", "");

  // The starter may hold signals back that end our waits.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A file of ours must not get the number of a standard stream that is closed.
  for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd <= 2;) fd = open("/dev/null", O_RDWR);
  // Nothing of the starter's is kept open, and nothing made here is for others to read.
  close_range(3, ~0u, 0);
  umask(077);
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error to report, not a way to die
  signal(SIGPIPE, SIG_IGN);
  // Every ring and process costs descriptors.
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  try {
    if (!salvaged.empty()) return salvage(salvaged, output, removes);
    return finish.empty() ? slurmscope::drain_spool(spool, is_foreground) : slurmscope::finish_spool(finish, timeout);
  } catch (const std::exception &error) {
    fprintf(stderr, "slurmscope-drain: %s\n", error.what());
    return 1;
  }
}
