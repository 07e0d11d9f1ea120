// Implementation of inject.h.
#include "spank/inject.h"

#include <cerrno>
#include <unistd.h>

#include "spank/preload_list.h"

namespace slurmscope {

bool inject_task(spank_t spank, const StartReport &step, bool is_shell_step, const char *libdir, char *message,
                 size_t message_size) {
  HeapText library;
  library.append("%s/%s", libdir, kPreloadName);
  // A container or a private /dev/shm: ld.so would print a line for each program of the task.
  const char *unusable = access(library.c_str(), R_OK) != 0         ? library.c_str()
                         : access(step.spool, R_OK | W_OK | X_OK) != 0 ? step.spool
                                                                       : nullptr;
  if (unusable != nullptr) {
    snprintf(message, message_size, "couldn't use %.400s inside the task: %s; the task is not profiled", unusable,
             strerror(errno));
    clean_task(spank, libdir);
    return false;
  }
  HeapText list, edited;
  read_variable(spank, "LD_PRELOAD", &list);
  preload_with(list.c_str(), library.c_str(), &edited);
  spank_setenv(spank, "LD_PRELOAD", edited.c_str(), 1);
  spank_setenv(spank, "SLURMSCOPE", step.settings, 1);
  spank_setenv(spank, "SLURMSCOPE_SPOOL", step.spool, 1);
  spank_setenv(spank, kSetVariable, step.settings, 1);
  if (is_shell_step) spank_setenv(spank, kWorkDirVariable, step.work_dir, 1);
  spank_unsetenv(spank, kProfileVariable);
  return true;
}

void clean_task(spank_t spank, const char *libdir) {
  spank_unsetenv(spank, kProfileVariable);
  HeapText was_set, now, list, edited, library;
  if (!read_variable(spank, kSetVariable, &was_set)) return;
  if (read_variable(spank, "SLURMSCOPE", &now) && strcmp(now.c_str(), was_set.c_str()) == 0)
    spank_unsetenv(spank, "SLURMSCOPE");
  spank_unsetenv(spank, kSetVariable);
  spank_unsetenv(spank, "SLURMSCOPE_SPOOL");
  library.append("%s/%s", libdir, kPreloadName);
  if (!read_variable(spank, "LD_PRELOAD", &list) || !preload_without(list.c_str(), library.c_str(), &edited)) return;
  if (edited.size() > 0)
    spank_setenv(spank, "LD_PRELOAD", edited.c_str(), 1);
  else
    spank_unsetenv(spank, "LD_PRELOAD");
}

}  // namespace slurmscope
