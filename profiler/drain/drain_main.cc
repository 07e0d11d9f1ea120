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
    "\n"
    "Writes the trace of one step on one node from the shared memory that the profiled\n"
    "processes fill. Started by Slurm's plugin and by `slurmscope record`.\n"
    "\n"
    "  --spool DIR        follow the spool directory DIR; returns once a daemon does\n"
    "  --foreground       stay in this process until the step has ended\n"
    "  --finish DIR       announce the step's end, wait until all is written, remove DIR\n"
    "  --timeout SECONDS  of --finish: wait no longer than this (default 60)\n"
    "  --help             this text\n";

int usage_error(const char *what, const char *argument) {
  fprintf(stderr, "slurmscope-drain: %s%s; see slurmscope-drain --help\n", what, argument);
  return 2;
}

}  // namespace

int main(int count, char **arguments) {
  std::string spool, finish;
  bool is_foreground = false;
  unsigned timeout = 60;
  for (int i = 1; i < count; i++) {
    std::string argument = arguments[i];
    bool wants_value = argument == "--spool" || argument == "--finish" || argument == "--timeout";
    if (argument == "--help") {
      fputs(kHelp, stdout);
      return 0;
    }
    if (argument == "--foreground") {
      is_foreground = true;
      continue;
    }
    if (!wants_value) return usage_error("unknown argument ", arguments[i]);
    if (++i == count) return usage_error("a value is missing after ", arguments[i - 1]);
    if (argument == "--spool") spool = arguments[i];
    if (argument == "--finish") finish = arguments[i];
    if (argument == "--timeout") {
      char *end = nullptr;
      unsigned long value = strtoul(arguments[i], &end, 10);
      if (end == arguments[i] || *end != 0 || value > 86400) return usage_error("--timeout wants seconds, not ", arguments[i]);
      timeout = static_cast<unsigned>(value);
    }
  }
  if (spool.empty() == finish.empty()) return usage_error("one of --spool and --finish is needed", "");

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
    return finish.empty() ? slurmscope::drain_spool(spool, is_foreground) : slurmscope::finish_spool(finish, timeout);
  } catch (const std::exception &error) {
    fprintf(stderr, "slurmscope-drain: %s\n", error.what());
    return 1;
  }
}
