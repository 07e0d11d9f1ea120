// The life of one process that is not our child: is it there, and how did it end.
//
// Used by the drainer for each recorded process. Single-threaded. A pidfd is bound to the process, not to its
// number; the start time tells whether the number was already somebody else's when we opened it.
#pragma once

#include <cstdint>
#include <optional>

#include "profiler/drain/spool.h"

namespace slurmscope {

class ProcessWatch {
 public:
  ProcessWatch() = default;
  /// `start_time` is field 22 of the process's /proc/<pid>/stat, `pid_namespace` the inode it knows itself in.
  ProcessWatch(uint32_t pid, uint64_t start_time, uint64_t pid_namespace);

  /// False once it has ended (also as a zombie). True if that cannot be told from here.
  bool is_alive();
  /// True if the process can be seen from here at all.
  bool is_visible() const { return is_visible_; }
  /// Descriptor that becomes readable at its end; -1 if there is none.
  int descriptor() const { return pidfd_.get(); }
  /// Wait status, once it has been reaped and if the kernel tells (6.15 or newer).
  std::optional<int32_t> wait_status() const;

 private:
  Descriptor pidfd_;
  bool is_visible_ = false, is_gone_ = false;
};

/// Field 22 of /proc/<pid>/stat; 0 if the process is not there.
uint64_t process_start_time(uint32_t pid);

}  // namespace slurmscope
