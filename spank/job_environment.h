// What the plugin asks Slurm for: variables and items of the step, through spank's own accessors only.
//
// Called by the hooks in slurmstepd and in the task's process. In remote context getenv() would read
// slurmd's environment, so it is never used there; spank_getenv cuts what does not fit, so the buffer
// grows. Every function is safe with a NULL handle or an item that is not available: it says "absent".
#pragma once

#include <cstdint>

#include "spank/spank_cxx.h"
#include "spank/text.h"

namespace slurmscope {

/// The variable's value in the job's environment, whole. False and *value cleared when it is not set.
bool read_variable(spank_t spank, const char *name, HeapText *value);

/// A 32-bit item that needs no further argument. False when it is not available.
bool read_item(spank_t spank, spank_item_t item, uint32_t *value);

}  // namespace slurmscope
