// The installed parts beside the command line: where they are, and how the drainer program is run.
//
// Called by the recording and by salvage. Single-threaded; starts processes.
#pragma once

#include <string>
#include <vector>

namespace slurmscope {

constexpr const char *kPreload = "libslurmscope.so";
constexpr const char *kDrainer = "slurmscope-drain";
/// Entries of LD_PRELOAD end at these.
constexpr const char *kPreloadSeparators = ": ";

/// Where the preload and the drainer are installed: SLURMSCOPE_LIBDIR, ../lib/slurmscope beside the
/// program, or the configured directory. Throws Error if the parts are in none of them.
std::string find_library_directory();

/// Runs the drainer of that directory and waits for the process that was started (not for the daemon it leaves).
/// Returns its exit code, 128 + N for signal N. Its standard output is put into `said`, or nowhere.
/// With `said` it gets `timeout` seconds: then it is killed, which harms nothing, and Error thrown.
int run_drainer(const std::string &library_directory, std::vector<std::string> arguments, std::string *said = nullptr,
                unsigned timeout = 0);

}  // namespace slurmscope
