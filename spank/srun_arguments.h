// Reads srun's own command line for the two flags that no hook delivers.
//
// sbatch and salloc export SLURM_PROFILE, a direct `srun --profile=task` exports nothing, and a nested
// `srun --profile=none` still inherits the old value. So srun's command line is looked at, in srun's own
// process, as the user. Pure functions over the words; the reader of /proc is separate.
#pragma once

#include "spank/text.h"

namespace slurmscope {

struct SrunFlags {
  const char *profile = nullptr;  // the value of the last --profile; points into the words
  bool has_slurmscope = false;    // --slurmscope is there
};

/// Looks at words[1..count) up to where `command` (srun's view of what it starts) begins. Without a
/// command, or if it is not found, nothing is reported: an application's own --profile must not count.
SrunFlags find_srun_flags(const char *const *words, int count, const char *const *command, int command_count);

/// Reads /proc/self/cmdline into `text` and points `words` (at most `limit`) at its arguments; returns
/// their count, 0 when it can't be read.
int read_own_command_line(HeapText *text, const char **words, int limit);

}  // namespace slurmscope
