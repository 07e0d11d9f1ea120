// The node's clocks as the drainer reads them: anchors for the trace, and the ticks of now.
#pragma once

#include <cstdint>
#include <string>

#include "proto/ring.h"
#include "proto/slurmscope.pb.h"

namespace slurmscope {

uint64_t monotonic_ns();

/// Ticks of `clock` now.
uint64_t ticks_now(ClockKind clock);

struct ClockAnchor {
  uint64_t tsc, width;
  int64_t monotonic, realtime;
};
/// The tightest of a few readings of TSC, CLOCK_MONOTONIC and CLOCK_REALTIME.
ClockAnchor read_anchor();

/// How far a process's CLOCK_MONOTONIC is ahead of ours, if it lives in another time namespace.
struct ClockShift {
  int64_t ns = 0;
  uint64_t error_ns = 0;
};
/// Compares what the process read at attach with our clocks now; 0 in our own namespace, or if it is not known. The
/// wall clock is the same in all of them, so it must not be set between attach and now: call it soon.
ClockShift read_clock_shift(const ProcessFile &process);

/// Appends `anchor` in the ticks of `clock`.
void add_anchor(const ClockAnchor &anchor, ClockKind clock, v1::ClockAnchors *to);

}  // namespace slurmscope
