// The longest time of a rank between two calls, and in one call: where a stopped, migrated or stolen-from
// process shows. Fed by read_events() with the rows of a process. Pure, single-threaded, a few words per thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"

namespace slurmscope {

/// Of one thread; ticks of its node. Calls are indices of the stream's call table.
struct LargestGaps {
  struct { uint64_t start = 0, ticks = 0; uint32_t after = 0, before = 0; } outside;
  struct { uint64_t start = 0, ticks = 0; uint32_t call = 0; } inside;
};

class GapFinder {
 public:
  /// `is_setup`: a call that starts or ends MPI or makes communicators. They are long by nature: no longest call.
  void add(uint32_t thread, const TraceEvent &row, bool is_setup = false);
  /// Of thread `main` if it made calls, else of the one that made most; nullopt without any.
  std::optional<LargestGaps> result(uint32_t main) const;

 private:
  struct ThreadState { LargestGaps gaps; uint64_t calls = 0, last_end = 0; uint32_t last_call = 0; };
  std::map<uint32_t, ThreadState> threads_;
};

}  // namespace slurmscope
