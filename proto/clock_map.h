// Ticks of a node's clock to nanoseconds, from the anchors in the trace.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "proto/slurmscope.pb.h"

namespace slurmscope {

/// Piecewise linear between anchors, the nearest piece's slope beyond them. With one anchor the Node's
/// ticks_per_second gives the slope.
class ClockMap {
 public:
  void set_ticks_per_second(double rate);
  void add(const v1::ClockAnchors &anchors);
  /// Sorts and checks the anchors; call after the last add().
  void prepare();
  bool usable() const;
  /// CLOCK_REALTIME / CLOCK_MONOTONIC of the node, ns.
  int64_t realtime_ns(uint64_t ticks) const;
  int64_t monotonic_ns(uint64_t ticks) const;
  /// CLOCK_REALTIME as it would read had nobody set it since the first anchor: what messages are compared by.
  int64_t steady_ns(uint64_t ticks) const;
  /// Ticks of the first and the last anchor; 0 without any.
  std::pair<uint64_t, uint64_t> span() const;
  /// Length of `ticks` in seconds at the mean rate over all anchors (for sums of durations).
  double seconds(double ticks) const;
  /// Largest step between realtime and monotonic over the run, ns (clock set, VM resume); 0 = none.
  int64_t largest_realtime_step_ns() const;
  /// Largest relative change of the rate between neighbouring anchors (0 = steady).
  double largest_rate_change() const;

 private:
  struct Anchor { uint64_t ticks; int64_t monotonic, realtime; };
  std::pair<const Anchor *, const Anchor *> piece(uint64_t ticks) const;
  std::vector<Anchor> anchors_;
  double rate_ = 0;
};

}  // namespace slurmscope
