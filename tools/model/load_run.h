// From what a user names (a folder, files, a Slurm job id, nothing) to a loaded run.
#pragma once

#include <string>
#include <vector>

#include "tools/model/run.h"

namespace slurmscope {

/// Loads one run. `names`: none = the newest run folder in the current directory; one = a run folder, a
/// file or a Slurm job id; several = files of one run. `step` selects a world by its label ("" = the
/// largest MPI world). With `wants_events`, or if several nodes' clocks have to be compared, the events are read as
/// well. Throws Error naming what was looked for and where.
RunModel load_run(const std::vector<std::string> &names, const std::string &step, bool wants_events = false);

/// Expands each name to the runs it stands for: a folder that holds runs stands for all of them.
/// Sorted by path within one name.
std::vector<std::string> find_runs(const std::vector<std::string> &names);

/// The trace files of a run folder (or the file itself), sorted.
std::vector<std::string> trace_files(const std::string &path);

}  // namespace slurmscope
