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

/// Appends `anchor` in the ticks of `clock`.
void add_anchor(const ClockAnchor &anchor, ClockKind clock, v1::ClockAnchors *to);

}  // namespace slurmscope
