// The environment of one task: what a profiled step adds, and what an unprofiled one must take away.
//
// Called from slurm_spank_task_init, in the task's process just before exec, as the user and in the task's
// own mount namespace. Writes through spank_setenv, so neither --export=NONE nor SLURM_EXPORT_ENV matters.
#pragma once

#include "spank/job_environment.h"
#include "spank/step.h"

namespace slurmscope {

/// Adds LD_PRELOAD, SLURMSCOPE and SLURMSCOPE_SPOOL, each once. False, and a sentence in `message`, if the
/// library or the spool can't be used from inside the task: then the task runs without.
bool inject_task(spank_t spank, const StartReport &step, bool is_shell_step, const char *libdir, char *message,
                 size_t message_size);

/// Takes away what an enclosing profiled step left behind; a user's own values stay.
void clean_task(spank_t spank, const char *libdir);

}  // namespace slurmscope
