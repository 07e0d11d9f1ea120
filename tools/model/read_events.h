// The second pass over a run's files: what only the events tell. Matches messages, compares the nodes' clocks
// by them, puts all ranks on one time line and finds the largest gaps.
//
// Called by load_run() once the worlds are built, because messages are between world ranks; the worlds are then
// built again, with times that are comparable. Single-threaded; memory: see match_messages.h.
#pragma once

#include "tools/model/run.h"

namespace slurmscope {

/// Reads the events if `wants_all` or if a world spans several clocks; in any case fills World::clocks. Files
/// are read from their paths again; what a file's damage hides was reported by the first pass.
void read_events(RunModel *run, bool wants_all);

/// The same over files in memory (tests): `files[i]` is the content of run->set.files[i].
void read_events(RunModel *run, bool wants_all, const std::vector<std::string> &files);

}  // namespace slurmscope
