// Around the worker: the daemon that starts it and starts it again, and the other side, --finish.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace slurmscope {

/// Follows `path` until the step's end, in this process or as a daemon of its own. Returns an exit code.
/// As a daemon it returns in the caller once the daemon follows.
int drain_spool(const std::string &path, bool is_foreground);

/// Announces the end of the step, waits until everything is written, at most `timeout` seconds, and removes
/// the spool. Salvages if the drainer is dead. Returns 0, or 1 if something was lost (one line on stderr).
int finish_spool(const std::string &path, unsigned timeout);

struct Salvaged {
  std::string trace;              // path of the file; "" if the spool holds no process
  bool is_old = false;            // everything had been written before: by its drainer, or by an earlier call
  std::string loss;               // why the trace could not be ended; "" all is there
  std::vector<uint32_t> running;  // pids of processes that still live: what they do from now on is not in the file
  bool is_removed = false;
};

/// Writes what is left in a spool whose drainer is dead, into the trace that it began or into a copy of that in the
/// directory `output` (if not ""). The spool stays, unless `removes` and nothing was lost and no process lives.
/// Throws Error if a drainer still follows the spool, if it is from before the machine's last start, or if the trace cannot
/// be written: nothing is lost then.
Salvaged salvage_spool(const std::string &path, const std::string &output, bool removes);

}  // namespace slurmscope
