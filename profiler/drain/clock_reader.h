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

/// True if the kernel itself keeps time by the TSC, or says that it neither stops nor changes its rate.
/// `root` is put before /sys and /proc.
bool has_usable_tsc(const std::string &root);

/// Appends `anchor` in the ticks of `clock`.
void add_anchor(const ClockAnchor &anchor, ClockKind clock, v1::ClockAnchors *to);

}  // namespace slurmscope
