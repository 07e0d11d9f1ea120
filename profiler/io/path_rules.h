// Which paths are part of a profile: what the settings io_exclude and io_include say, and what goes without saying.
//
// set_path_rules() runs once, in the preload's constructor; afterwards the rules only are read, by any thread and any
// signal handler. No allocation, no system call.
#pragma once

#include <cstddef>

namespace slurmscope {

/// `exclude` and `include` are lists of paths joined by '+'; `spool` (may be empty) is excluded in any case. Rules beyond
/// the first 64 are ignored.
void set_path_rules(const char *exclude, const char *include, const char *spool);

/// True if the file at `path` (absolute and tidy, or a kind such as "tcp:...") is recorded. The longest rule that it is
/// under decides; of two of the same length the inclusion. Without any, all are but program code.
bool is_recorded_path(const char *path);

/// Shared objects and Python's modules: ".so", ".so.1", ".py", ".pyc", "__pycache__".
bool is_program_code(const char *path);

}  // namespace slurmscope
