// Runs the recorded command as its shell would: signals, terminal, exit code; see recording.h.
//
// Signals are taken with sigwaitinfo in the parent's only thread, so nothing runs in a handler.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/error.h"
#include "tools/record/recording.h"

namespace slurmscope {
namespace {

// Not for the command: faults of our own, the end of children, what is sent by our own writing, and the
// terminal's job control, which goes to the whole process group.
constexpr int kOwn[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGKILL, SIGSTOP,
                        SIGCHLD, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};

bool is_forwarded(int number) {
  for (int own : kOwn)
    if (number == own) return false;
  // What the caller ignores (nohup) stays ignored, here and in the command. The numbers between are libc's.
  struct sigaction action;
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
}

/// In the child: everything as we found it, then the command.
[[noreturn]] void become(const std::vector<std::string> &command, const Recording *recording, const sigset_t &mask,
                         const struct sigaction &child_action) {
  sigaction(SIGCHLD, &child_action, nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (recording) recording->set_environment();
  std::vector<char *> argv;
  for (const std::string &word : command) argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  int error = errno;
  fmt::print(stderr, "slurmscope: {}: {}\n", command[0], std::strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

}  // namespace

ChildResult run_command(const std::vector<std::string> &command, const Recording *recording) {
  sigset_t waited, before;
  sigemptyset(&waited);
  sigaddset(&waited, SIGCHLD);
  for (int number = 1; number <= SIGRTMAX; number++)
    if (is_forwarded(number)) sigaddset(&waited, number);
  // With SIGCHLD ignored the kernel would throw the exit status away.
  struct sigaction child_before, standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &child_before);
  sigprocmask(SIG_BLOCK, &waited, &before);

  std::fflush(nullptr);
  ChildResult result;
  result.pid = fork();
  if (result.pid < 0) {
    std::string reason = std::strerror(errno);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    throw Error(fmt::format("couldn't start {}: {}", command[0], reason));
  }
  if (result.pid == 0) become(command, recording, before, child_before);
  for (;;) {
    siginfo_t info;
    int number = sigwaitinfo(&waited, &info);
    if (number < 0 && errno != EINTR) throw Error(fmt::format("couldn't wait for {}: {}", command[0], std::strerror(errno)));
    if (number == SIGCHLD) {
      // Signals merge: whoever it was for, ask about our child only.
      if (waitpid(result.pid, &result.wait_status, WNOHANG) == result.pid) break;
    } else if (number > 0 && info.si_code <= 0) {
      // From a process. What the terminal sends (si_code > 0) the command, in our process group, has got itself.
      kill(result.pid, number);
    }
  }
  // The same signals stay blocked: a second Ctrl-C must not lose the trace that is being finished.
  return result;
}

}  // namespace slurmscope
