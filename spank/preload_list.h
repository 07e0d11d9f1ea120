// Edits LD_PRELOAD: our library first and once, everything else as the user had it.
//
// Called by inject.cc in the task's process, as the user. Pure functions over texts; HeapText allocates.
#pragma once

#include "spank/text.h"

namespace slurmscope {

/// `list` (NULL: unset; separators are ':' and space) with `library` in front and nowhere else.
void preload_with(const char *list, const char *library, HeapText *result);

/// `list` without `library`; empty if nothing else was in it. Returns whether it was there.
bool preload_without(const char *list, const char *library, HeapText *result);

}  // namespace slurmscope
