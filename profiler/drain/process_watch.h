// The life of one process that is not our child: is it there, and how did it end.
//
// Used by the drainer for each recorded process. Single-threaded. A pidfd is bound to the process, not to its
// number; the start time tells whether the number was already somebody else's when we opened it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/drain/spool.h"

namespace slurmscope {

class ProcessWatch {
 public:
  ProcessWatch() = default;
  /// `start_time` is field 22 of the process's /proc/<pid>/stat as it read it itself, the namespaces are the inodes it
  /// knows itself in (0 = unknown). In another time namespace start times are other numbers: not compared.
  ProcessWatch(uint32_t pid, uint64_t start_time, uint64_t pid_namespace, uint64_t time_namespace);

  /// False once it has ended (also as a zombie). True if that cannot be told from here.
  bool is_alive();
  /// True if the process can be seen from here at all.
  bool is_visible() const { return is_visible_; }
  /// True while the process, or how it ended, may still be asked for; stop() gives the descriptor back.
  bool is_watching() const { return static_cast<bool>(pidfd_); }
  void stop() { pidfd_ = Descriptor(); }
  /// Descriptor that becomes readable at its end; -1 if there is none.
  int descriptor() const { return pidfd_.get(); }
  /// Wait status of an ended process: while it is a zombie from /proc, once it has been reaped from the
  /// kernel's memory of the pidfd (6.15 or newer). `source` is set to "proc" or "pidfd".
  std::optional<int32_t> wait_status(std::string *source) const;

 private:
  uint32_t pid_ = 0;
  uint64_t start_time_ = 0;
  Descriptor pidfd_;
  bool is_visible_ = false, is_gone_ = false;
};

/// Field `number` (from 3 on) of /proc/<pid>/stat; "" if it is not there.
std::string process_stat_field(uint32_t pid, int number);
/// Field 22 of /proc/<pid>/stat; 0 if the process is not there.
uint64_t process_start_time(uint32_t pid);

}  // namespace slurmscope
