// What the drainer has learned and the rings no longer hold, on the spool: a successor of a drainer that
// was killed reads it and knows the same ids. Single-threaded.
//
// Append-only; a record that is cut at the end is ignored. Replaying a record twice does no harm.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "profiler/drain/spool.h"

namespace slurmscope {

class Journal {
 public:
  enum class Kind : uint32_t {
    kStream = 1,      // 8 bytes: stream id
    kProcess = 2,     // name of a process file that was found
    kRing = 3,        // name of a ring file that was found
    kClockShift = 5,  // id of a process (4 bytes), 4 bytes of 0, ClockShift
    kDefinition = 4,  // index of the ring (4 bytes, in order of kRing), 4 bytes of 0, then the record
  };
  explicit Journal(const Spool *spool) : spool_(spool) {}

  /// Reads what a predecessor wrote and opens the file to go on behind it. False if it cannot be kept.
  bool open(const std::function<void(Kind, std::string_view)> &visit);
  void add(Kind kind, std::string_view content);
  void add_definition(uint32_t ring, const void *record, size_t size);
  /// Writes what was added. False if that failed: a successor will know less.
  bool flush();

 private:
  const Spool *spool_;
  Descriptor file_;
  std::string pending_;
};

}  // namespace slurmscope
