// Implementation of child.h. After fork() in a process with threads only calls that need none of their
// locks are made; malloc and snprintf are usable there with glibc.
#include "spank/child.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace slurmscope {
namespace {

constexpr int kCannotBecomeUser = 97;  // the child's exit codes; it has no other way to say so
constexpr int kCannotExec = 127;

int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

void close_descriptors_from(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0U) == 0) return;
  long limit = sysconf(_SC_OPEN_MAX);
  if (limit < 0 || limit > 65536) limit = 65536;
  for (unsigned fd = first; fd <= last && fd < static_cast<unsigned>(limit); fd++) close(static_cast<int>(fd));
}

void reset_signals() {
  struct sigaction usual;
  memset(&usual, 0, sizeof usual);
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; number++) sigaction(number, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void open_null_streams() {
  int null = open("/dev/null", O_RDWR);
  if (null < 0) return;
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (null > 2) close(null);
}

void make_killable() {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] ssize_t written = write(file, "0", 1);
  close(file);
}

// Becomes the user for good: real, effective and saved. slurmstepd may have dropped its effective ids only.
bool become_user(const UserIds &user) {
  if (getuid() == 0 && geteuid() != 0 && seteuid(0) != 0) return false;
  if (geteuid() == 0) {
    if (setgroups(static_cast<size_t>(user.group_count), user.groups) != 0) return false;
    if (setresgid(user.gid, user.gid, user.gid) != 0) return false;
    if (setresuid(user.uid, user.uid, user.uid) != 0) return false;
  }
  uid_t real, effective, saved;
  if (getresuid(&real, &effective, &saved) != 0) return false;
  if (real != user.uid || effective != user.uid || saved != user.uid) return false;
  return user.uid == 0 || setuid(0) != 0;
}

bool write_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t count = write(fd, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// Reads until the other side closes, `size` bytes are there, or the deadline passes (false).
bool read_until(int fd, int64_t deadline, char *bytes, size_t size, size_t *got) {
  *got = 0;
  while (*got < size) {
    int64_t left = deadline - now_ms();
    if (left <= 0) return false;
    pollfd waiting = {fd, POLLIN, 0};
    int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t count = read(fd, bytes + *got, size - *got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return true;
    *got += static_cast<size_t>(count);
  }
  return true;
}

// Waits for `pid` until the deadline, without a timer signal: slurmstepd's signals are not ours. The poll
// interval only bounds the delay between the end of the pipe and the end of the process, which is short.
bool reap_until(pid_t pid, int64_t deadline, int *status) {
  for (;;) {
    pid_t reaped = waitpid(pid, status, WNOHANG);
    if (reaped == pid) return true;
    if (reaped < 0 && errno != EINTR) {
      *status = 0;  // somebody else reaped it; its report tells
      return true;
    }
    if (now_ms() >= deadline) return false;
    timespec pause = {0, 1000000};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void run_child(const UserIds &user, int pipe_end, ChildWork work, void *context, size_t size) {
  reset_signals();
  close_descriptors_from(0, static_cast<unsigned>(pipe_end) - 1);
  close_descriptors_from(static_cast<unsigned>(pipe_end) + 1, ~0U);
  if (pipe_end < 3) {  // slurmstepd ran without standard streams: move ours out of their way
    int moved = fcntl(pipe_end, F_DUPFD_CLOEXEC, 3);
    if (moved >= 0) {
      close(pipe_end);
      pipe_end = moved;
    }
  }
  open_null_streams();
  make_killable();
  umask(077);
  if (!become_user(user)) _exit(kCannotBecomeUser);
  char *report = static_cast<char *>(calloc(1, size));
  if (report == nullptr) _exit(1);
  size_t used = work(context, report, size);
  _exit(write_all(pipe_end, report, used) ? 0 : 1);
}

}  // namespace

ssize_t run_as_user(const UserIds &user, int seconds, ChildWork work, void *context, char *report, size_t size,
                    char *error, size_t error_size) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    snprintf(error, error_size, "couldn't make a pipe: %s", strerror(errno));
    return -1;
  }
  int64_t deadline = now_ms() + seconds * 1000;
  pid_t pid = fork();
  if (pid < 0) {
    snprintf(error, error_size, "couldn't fork: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return -1;
  }
  if (pid == 0) run_child(user, ends[1], work, context, size);
  close(ends[1]);
  size_t got = 0;
  int status = 0;
  bool in_time = read_until(ends[0], deadline, report, size, &got);
  close(ends[0]);
  if (in_time) in_time = reap_until(pid, deadline, &status);
  if (!in_time) {
    kill(pid, SIGKILL);
    reap_until(pid, now_ms() + 200, &status);
    snprintf(error, error_size, "gave up after %d s", seconds);
    return -1;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return static_cast<ssize_t>(got);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotBecomeUser)
    snprintf(error, error_size, "couldn't become user %u", static_cast<unsigned>(user.uid));
  else
    snprintf(error, error_size, "the helper process ended early (wait status %d)", status);
  return -1;
}

int run_program(const char *path, char *const *arguments, int seconds, char *message, size_t message_size) {
  if (message_size > 0) message[0] = 0;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    snprintf(message, message_size, "couldn't make a pipe: %s", strerror(errno));
    return -1;
  }
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  int64_t deadline = now_ms() + seconds * 1000;
  pid_t pid = fork();
  if (pid == 0) {
    sigprocmask(SIG_UNBLOCK, &child_signal, nullptr);
    dup2(ends[1], 2);
    fcntl(2, F_SETFL, fcntl(2, F_GETFL) & ~O_NONBLOCK);
    char search_path[] = "PATH=/usr/bin:/bin";
    char *environment[] = {search_path, nullptr};
    execve(path, arguments, environment);
    _exit(kCannotExec);
  }
  close(ends[1]);
  int status = 0, code = -1;
  if (pid < 0) {
    snprintf(message, message_size, "couldn't fork: %s", strerror(errno));
  } else {
    pid_t reaped;
    while ((reaped = waitpid(pid, &status, WNOHANG)) == 0) {
      int64_t left = deadline - now_ms();
      if (left <= 0) break;
      timespec rest = {static_cast<time_t>(left / 1000), static_cast<long>(left % 1000) * 1000000};
      sigtimedwait(&child_signal, nullptr, &rest);
    }
    if (reaped == pid) {
      code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      // The daemon that stays behind may hold the other end, so this never waits for its close.
      ssize_t count = read(ends[0], message, message_size - 1);
      message[count > 0 ? count : 0] = 0;
      message[strcspn(message, "\n")] = 0;
      if (code == kCannotExec && message[0] == 0) snprintf(message, message_size, "couldn't run %.300s", path);
    } else {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      snprintf(message, message_size, "%.300s took longer than %d s", path, seconds);
    }
  }
  close(ends[0]);
  return code;
}

}  // namespace slurmscope
