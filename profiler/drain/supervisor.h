// Around the worker: the daemon that starts it and starts it again, and the other side, --finish.
#pragma once

#include <cstdint>
#include <string>

namespace slurmscope {

/// Follows `path` until the step's end, in this process or as a daemon of its own. Returns an exit code.
/// As a daemon it returns in the caller once the daemon follows.
int drain_spool(const std::string &path, bool is_foreground);

/// Announces the end of the step, waits until everything is written, at most `timeout` seconds, and removes
/// the spool. Salvages if the drainer is dead. Returns 0, or 1 if something was lost (one line on stderr).
int finish_spool(const std::string &path, unsigned timeout);

}  // namespace slurmscope
