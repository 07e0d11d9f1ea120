// The life of a profiled step on one node: spool directory, drainer, exit statuses, end.
//
// Called by the hooks in slurmstepd. Every function forks a child that becomes the user (child.h) and
// comes back within a bound; none of them fails a job. slurmstepd keeps no descriptor, thread or process.
//
// Where the drainer lives: it is started from slurmstepd itself, not from a task, and makes itself a
// daemon. With proctrack/cgroup slurmstepd is outside the cgroup whose processes are signalled at the end
// of a step (v1: it sits in the job's cgroup, v2: in step_N/slurm), with linuxproc and pgid a daemon is no
// descendant any more. So the drainer survives scancel, the time limit and the end of the tasks, and
// leaves when the step is finished.
#pragma once

#include "spank/site_config.h"
#include "spank/step_facts.h"

namespace slurmscope {

constexpr const char *kPreloadName = "libslurmscope.so";
constexpr const char *kDrainerName = "slurmscope-drain";

/// What the child reports about a started step: plain bytes, sent through a pipe.
struct StartReport {
  bool is_active;        // the drainer follows; the tasks are to be injected
  bool is_by_user;       // a person asked for the profile
  bool is_notice;        // the message is no trouble
  char settings[2048];   // canonical text: SLURMSCOPE of the tasks
  char spool[512];
  char alias[512];       // a link that the child made beside the spool (see make_alias); may be empty
  char work_dir[4096];
  char message[768];     // one sentence for the log; empty: none
};

/// Decides, makes the spool, starts the drainer. `libdir` holds the libraries and the drainer.
void start_step(const StepFacts &facts, const SiteConfig &site, const char *libdir, StartReport *report);

/// Appends the exit status of a task to SPOOL/tasks.
struct TaskEnd {
  uint32_t task;
  pid_t pid;
  int status;
};
struct RunningStep {
  UserIds user;
  const char *spool, *alias, *libdir;
  unsigned wait_seconds;
};
/// Writes down how a task ended; with `is_last` also finishes the step (see finish_step) in the same child.
/// False, and a sentence in `message`, if something went wrong.
bool end_task(const RunningStep &step, const TaskEnd &end, bool is_last, char *message, size_t message_size);

/// Has the drainer write everything and leave; bounded by step.wait_seconds.
bool finish_step(const RunningStep &step, char *message, size_t message_size);

}  // namespace slurmscope
