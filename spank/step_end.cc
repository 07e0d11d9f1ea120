// End of a task and of a step: runs in a child that is the user.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "spank/step.h"

namespace slurmscope {
namespace {

struct EndWork {
  const RunningStep &step;
  const TaskEnd *end;  // NULL: no task ended
  bool finishes;
};

bool append_task(const EndWork &work, char *message, size_t size) {
  HeapText path, line;
  path.append("%s/tasks", work.step.spool);
  line.append("task=%u pid=%d status=%d\n", work.end->task, static_cast<int>(work.end->pid), work.end->status);
  int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool written = fd >= 0 && write(fd, line.c_str(), line.size()) == static_cast<ssize_t>(line.size());
  int why = errno;
  if (fd >= 0) close(fd);
  if (!written) snprintf(message, size, "couldn't write %.300s: %s", path.c_str(), strerror(why));
  return written;
}

bool finish_drainer(const EndWork &work, char *message, size_t size) {
  HeapText program, spool;
  program.append("%s/%s", work.step.libdir, kDrainerName);
  spool.set(work.step.spool);
  char seconds[16];
  snprintf(seconds, sizeof seconds, "%u", work.step.wait_seconds);
  char name[] = "slurmscope-drain", finish_flag[] = "--finish", timeout_flag[] = "--timeout";
  char *arguments[] = {name, finish_flag, spool.resize(spool.size()), timeout_flag, seconds, nullptr};
  char why[512];
  int code = run_program(program.c_str(), arguments, static_cast<int>(work.step.wait_seconds) + 2, why, sizeof why);
  if (work.step.alias[0] != 0) unlink(work.step.alias);
  if (code == 0) return true;
  bool is_left = access(work.step.spool, F_OK) == 0;
  snprintf(message, size, "couldn't finish the trace: %s (exit code %d)%s%.200s%s", why, code,
           is_left ? "; what is left is in " : "", is_left ? work.step.spool : "", is_left ? " (see slurmscope-salvage(1))" : "");
  return false;
}

// Reports nothing if all went well, else one sentence.
size_t end_in_child(void *context, char *report, size_t size) {
  const EndWork &work = *static_cast<const EndWork *>(context);
  if (work.end != nullptr) append_task(work, report, size);
  if (work.finishes) finish_drainer(work, report, size);
  return strlen(report);
}

bool run(const EndWork &work, char *message, size_t message_size) {
  int seconds = work.finishes ? static_cast<int>(work.step.wait_seconds) + 4 : 4;
  char error[256] = "";
  char report[768] = "";
  ssize_t size = run_as_user(work.step.user, seconds, end_in_child, const_cast<EndWork *>(&work), report,
                             sizeof report - 1, error, sizeof error);
  if (size == 0) return true;
  if (size < 0)
    snprintf(message, message_size, "couldn't %s: %s", work.finishes ? "finish the trace" : "note a task's end", error);
  else
    copy_text(message, message_size, report);
  return false;
}

}  // namespace

bool end_task(const RunningStep &step, const TaskEnd &end, bool is_last, char *message, size_t message_size) {
  return run({step, &end, is_last}, message, message_size);
}

bool finish_step(const RunningStep &step, char *message, size_t message_size) {
  return run({step, nullptr, true}, message, message_size);
}

}  // namespace slurmscope
