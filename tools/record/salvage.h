// What `slurmscope salvage` does with spool directories: finds them, and has the drainer program write what is left in them.
//
// Called by cmd_salvage. As root, everything that touches the content of a user's spool or trace happens in a child that
// is that user. Single-threaded.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace slurmscope {

struct SpoolPlace {
  std::string path;  // absolute
  uid_t owner = 0;
  gid_t group = 0;
};

/// `name` itself if it is a spool (it has a step.info), else the spools in it, sorted. Throws Error if there is none, or
/// if it is another user's and we are not root. Others' spools in a folder are left out; *others counts them.
std::vector<SpoolPlace> find_spools(const std::string &name, size_t *others);

struct SalvagedSpool {
  std::string trace;                 // "" if nothing was recorded
  bool is_old = false;               // everything had been written before
  bool is_removed = false;
  std::string loss;                  // why the trace could not be ended
  std::vector<std::string> running;  // pids
};

/// Salvages a spool of this process's user with the drainer of `library_directory`, within `timeout` seconds. Throws Error if
/// the drainer failed, and has said why on stderr, or took longer.
SalvagedSpool run_salvage(const std::string &library_directory, const std::string &spool, const std::string &output, bool removes,
                          unsigned timeout);

/// Runs `work` as the owner of `place`: here, or in a child if we are root and the owner is not. Returns its result.
int run_as_owner(const SpoolPlace &place, const std::function<int()> &work);

}  // namespace slurmscope
