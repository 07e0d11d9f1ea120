// Work as the job's user, outside slurmstepd: everything that touches the user's files happens here.
//
// Called by step_start.cc and step_end.cc from slurmstepd, which is root and has threads. The work runs in
// a forked child that has become the user for good, with no descriptor of slurmstepd open but the pipe of
// its report, default signals, oom_score_adj 0 (slurmstepd's own makes a process unkillable) and umask
// 077. Every wait has an end: a child that hangs (a dead file server) is killed and left behind.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace slurmscope {

struct UserIds {
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t *groups = nullptr;
  int group_count = 0;
};

/// Runs in the child. Returns what to report: at most `size` bytes at `report`.
using ChildWork = size_t (*)(void *context, char *report, size_t size);

/// Runs `work` and copies its report. Returns the report's size, or -1 and one sentence in `error` if the
/// child couldn't be started, became no user, died or took longer than `seconds`.
ssize_t run_as_user(const UserIds &user, int seconds, ChildWork work, void *context, char *report, size_t size,
                    char *error, size_t error_size);

/// Starts `path` with `arguments` (NULL at the end) and an environment of a PATH only, waits at most
/// `seconds`, and copies what it wrote to stderr, cut to its first line, into `message`. Returns the exit
/// code, 128 + signal, or -1 (message says why). For use inside a ChildWork: it blocks SIGCHLD there.
int run_program(const char *path, char *const *arguments, int seconds, char *message, size_t message_size);

}  // namespace slurmscope
