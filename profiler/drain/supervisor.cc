// See supervisor.h.
//
// A process of its own keeps the worker alive, because the worker maps files that an application can
// truncate (SIGBUS) and may meet the OOM killer. Supervisor and worker share one lock on
// SPOOL/drain.lock: it is free once both are gone.
#include "profiler/drain/supervisor.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "proto/error.h"
#include "profiler/drain/drain_worker.h"
#include "profiler/drain/spool.h"

namespace slurmscope {
namespace {

constexpr int kMaxRestarts = 5;

// The state of a process and its parent, from /proc/<pid>/stat.
bool read_parent(uint32_t pid, std::string *name, uint32_t *parent) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  *name = text.substr(open + 1, close - open - 1);
  char state;
  return static_cast<bool>(std::istringstream(text.substr(close + 1)) >> state >> *parent);
}

// Who started the step: named in step.info, else the slurmstepd above us, else our parent.
uint32_t find_starter(const Spool &spool) {
  auto info = spool.step_info();
  if (auto entry = info.find("starter_pid"); entry != info.end())
    return static_cast<uint32_t>(std::strtoul(entry->second.c_str(), nullptr, 10));
  uint32_t pid = static_cast<uint32_t>(getppid());
  if (info["starter"] == "record") return pid > 1 ? pid : 0;
  for (int above = 0; above < 6 && pid > 1; above++) {
    std::string name;
    uint32_t parent;
    if (!read_parent(pid, &name, &parent)) return 0;
    if (name.starts_with("slurmstepd")) return pid;
    pid = parent;
  }
  return 0;
}

Descriptor take_lock(const Spool &spool, const char *is_taken) {
  Descriptor lock = spool.open_file(kLockName, O_RDWR | O_CREAT);
  if (!lock) throw Error("cannot make " + spool.path() + "/" + kLockName + ": " + std::strerror(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) throw Error(spool.path() + is_taken);
  return lock;
}

std::string probe_root() {
  const char *root = getenv("SLURMSCOPE_PROBE_ROOT");
  return root != nullptr ? root : "";
}

// The signals of a terminal or a scheduler are meant for the application; the end is announced otherwise.
void ignore_signals() {
  for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ, SIGTSTP, SIGUSR1, SIGUSR2}) signal(number, SIG_IGN);
}

void write_result(const Spool &spool, const std::string &loss) {
  spool.write_text(kResultName, loss.empty() ? "ok\n" : "lost: " + loss + "\n");
}

constexpr const char kHasDrainer[] = " is followed by another drainer already";

// Whether the step began before this machine was started: then no time in its rings can be read any more, and a crash
// may have left any state of them. Memory file systems do not outlive that; elsewhere the wall clock tells.
bool is_from_before_boot(const Spool &spool) {
  constexpr int64_t kSecond = 1'000'000'000, kSlack = 60 * kSecond;
  struct statfs place;
  if (fstatfs(spool.directory(), &place) == 0 && place.f_type == TMPFS_MAGIC) return false;
  auto info = spool.step_info();
  int64_t started = std::strtoll(info["start_realtime_ns"].c_str(), nullptr, 10);
  timespec now, up;
  if (started <= 0 || clock_gettime(CLOCK_REALTIME, &now) != 0 || clock_gettime(CLOCK_BOOTTIME, &up) != 0) return false;
  return (now.tv_sec - up.tv_sec) * kSecond > started + kSlack;
}

// Whoever made the spool starts its drainer within this time; the lock taken meanwhile would leave the step without one.
bool is_about_to_start(const Spool &spool) {
  constexpr time_t kStartSeconds = 60;
  struct stat status;
  return !spool.exists(kDrainFileName) && fstat(spool.directory(), &status) == 0 && time(nullptr) - status.st_mtime < kStartSeconds;
}

void redirect_to_null(std::initializer_list<int> descriptors) {
  Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int descriptor : descriptors)
    if (null) dup2(null.get(), descriptor);
}

// The whole life of one worker; `ready` gets a byte once it follows. What is said later is said by
// --finish: a starter that reads our stderr to its end must not wait for ours.
void run_worker(const Spool &spool, uint32_t starter, Descriptor *ready) {
  DrainWorker worker(&spool, {.starter_pid = starter, .ends_now = false, .probe_root = probe_root()});
  if (*ready) {
    redirect_to_null({STDERR_FILENO});
    if (write(ready->get(), "r", 1) != 1) throw Error("the starter went away before the drainer was ready");
    *ready = Descriptor();
  }
  write_result(spool, worker.run());
  // Nobody calls --finish any more, or somebody has given up waiting.
  if (!spool.exists(kEndName) || spool.exists(kAbandonedName)) spool.remove();
}

// Tells producers that wait that nobody will come.
void set_gone(const Spool &spool) {
  Descriptor file = spool.open_file(kDrainFileName, O_RDWR);
  uint32_t gone = 1;
  if (file && pwrite(file.get(), &gone, sizeof gone, offsetof(DrainState, gone)) != sizeof gone) return;
}

int supervise(const Spool &spool, uint32_t starter, Descriptor ready) {
  for (int lives = 0; lives <= kMaxRestarts; lives++) {
    pid_t worker = fork();
    if (worker == 0) {
      try {
        run_worker(spool, starter, &ready);
        _exit(0);
      } catch (const std::exception &error) {
        fprintf(stderr, "slurmscope-drain: %s\n", error.what());
        _exit(ready ? 2 : 1);  // 2: could not even start
      }
    }
    if (worker < 0) break;
    ready = Descriptor();
    redirect_to_null({STDERR_FILENO});
    int status = 0;
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return 1;
  }
  set_gone(spool);
  return 1;
}

void wake_drainer(const Spool &spool) {
  Descriptor file = spool.open_file(kDrainFileName, O_RDWR);
  if (!file) return;
  void *memory = mmap(nullptr, sizeof(DrainState), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return;
  auto *state = static_cast<DrainState *>(memory);
  state->wake.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &state->wake, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  munmap(memory, sizeof(DrainState));
}

// Waits for the lock, at most `seconds`. A repeated alarm ends the wait even if the first one comes early.
bool await_lock(int lock, unsigned seconds) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  uint64_t until = monotonic_ns() + uint64_t{seconds} * 1'000'000'000;
  itimerval timer{{0, 50'000}, {static_cast<time_t>(seconds), seconds == 0 ? 1000 : 0}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  bool is_taken;
  while (!(is_taken = flock(lock, LOCK_EX) == 0) && errno == EINTR && monotonic_ns() < until) {
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  return is_taken;
}

}  // namespace

int drain_spool(const std::string &path, bool is_foreground) {
  Spool spool(path);
  uint32_t starter = find_starter(spool);
  if (is_foreground) {
    ignore_signals();
    Descriptor lock = take_lock(spool, kHasDrainer), none;
    run_worker(spool, starter, &none);
    return 0;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  Descriptor wait(ends[0]), ready(ends[1]);
  pid_t child = fork();
  if (child < 0) throw Error(std::string("cannot start the drainer: ") + std::strerror(errno));
  if (child == 0) {
    wait = Descriptor();
    setsid();
    pid_t grandchild = fork();
    if (grandchild != 0) _exit(grandchild < 0);
    int code = 1;
    try {
      ignore_signals();
      Descriptor lock = take_lock(spool, kHasDrainer);
      if (chdir("/") != 0) throw Error("cannot change to /");
      redirect_to_null({STDIN_FILENO, STDOUT_FILENO});  // stderr when the starter has heard the last of it
      code = supervise(spool, starter, std::move(ready));
    } catch (const std::exception &error) {
      fprintf(stderr, "slurmscope-drain: %s\n", error.what());
    }
    _exit(code);
  }
  ready = Descriptor();
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  char byte;
  ssize_t count;
  while ((count = read(wait.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  return count == 1 ? 0 : 1;  // the daemon has said why
}

int finish_spool(const std::string &path, unsigned timeout) {
  Spool spool(path);
  if (!spool.open_file(kEndName, O_WRONLY | O_CREAT))
    fprintf(stderr, "slurmscope: cannot mark the end in %s: %s\n", path.c_str(), std::strerror(errno));
  Descriptor lock = spool.open_file(kLockName, O_RDWR | O_CREAT);
  if (!lock) throw Error("cannot open " + path + "/" + kLockName + ": " + std::strerror(errno));
  wake_drainer(spool);
  if (!await_lock(lock.get(), timeout)) {
    Descriptor mark = spool.open_file(kAbandonedName, O_WRONLY | O_CREAT);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      fprintf(stderr, "slurmscope: the trace is not written yet after %u s; it may be incomplete\n", timeout);
      return 1;
    }
  }
  std::string result = spool.read_text(kResultName);
  if (result.empty()) {
    try {
      DrainWorker worker(&spool, {.starter_pid = 0, .ends_now = true, .probe_root = probe_root()});
      write_result(spool, worker.run());
      result = spool.read_text(kResultName);
    } catch (const Error &error) {
      result = std::string("lost: ") + error.what() + "\n";
    }
  }
  spool.remove();
  if (result == "ok\n") return 0;
  fprintf(stderr, "slurmscope: %s", result.starts_with("lost: ") ? result.c_str() + 6 : "the trace may be incomplete\n");
  return 1;
}

Salvaged salvage_spool(const std::string &path, const std::string &output, bool removes) {
  Spool spool(path);
  if (!spool.exists(kStepInfoName)) throw Error(path + " is no spool directory: there is no " + kStepInfoName + " in it");
  if (is_about_to_start(spool)) throw Error(path + " is of a step that is only starting: its drainer is not there yet");
  Descriptor lock = take_lock(spool, " is still followed by its drainer, which writes the trace itself");
  Salvaged salvaged;
  salvaged.trace = CommitRecord::parse(spool.read_text(kCommitName)).file;
  salvaged.is_old = spool.read_text(kResultName) == "ok\n";
  if (!salvaged.is_old) {
    if (is_from_before_boot(spool))
      throw Error(path + " is from before this machine was started: its rings cannot be read any more; " +
                  (salvaged.trace.empty() ? "its drainer had written nothing" : "what its drainer had written is in " + salvaged.trace));
    try {
      DrainWorker worker(&spool, {.starter_pid = 0, .ends_now = true, .gives_up = true, .probe_root = probe_root(), .output = output});
      salvaged.loss = worker.run();
      salvaged.trace = worker.trace();
      salvaged.running = worker.running();
    } catch (const Error &error) {
      throw Error(std::string(error.what()) + "; the spool " + path + " keeps what is not written: salvage again with another --output");
    }
    // Without a result the next call takes what the living do until then, or tries again to write.
    if (salvaged.loss.empty() && salvaged.running.empty()) write_result(spool, "");
  }
  if (removes && salvaged.loss.empty() && salvaged.running.empty()) {
    spool.remove();
    salvaged.is_removed = true;
  }
  return salvaged;
}

}  // namespace slurmscope
