// A Slurm for the unit tests of the plugin: implements spank_* and slurm_* over plain maps.
//
// The plugin's objects are linked with this instead of being loaded by slurmstepd. One step at a time.
#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "spank/spank_cxx.h"

struct spank_handle {
  std::map<std::string, std::string> variables;
  std::map<int, uint32_t> items;
  std::vector<std::string> arguments;
  uid_t uid;
  gid_t gid;
  int local_tasks = 1;
  int task = -1;           // -1: not in a task's hook
  int exit_status = 0;
  pid_t task_pid = 0;
};

namespace slurmscope::testing {

extern spank_context_t fake_context;          // what spank_context() says
extern std::vector<std::string> fake_log;     // "error: ..." and "info: ..."
extern std::vector<spank_option> fake_options;  // what was registered

}  // namespace slurmscope::testing
