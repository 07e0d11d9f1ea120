// From bounds between pairs of clocks to one time line: every node's clock against the reference node's.
//
// Called by read_events() and by tests. Pure, single-threaded. Nodes that exchanged nothing with the reference are
// reached over others, the way with the smallest error; the errors add up. A clock that cannot be reached keeps
// its own time (the wall clock as the node has it), with an error that nobody knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/model/clock_bounds.h"

namespace slurmscope {

/// What must be added to a clock at a time of its own to read as the reference.
struct OffsetSample {
  int64_t at_ns = 0;    // on the clock itself
  double offset_ns = 0;
  double error_ns = 0;
};

struct SolvedClock {
  bool is_solved = false;             // by messages, or the reference itself
  std::optional<size_t> via;          // the clock that it was compared with; none for the reference
  std::vector<OffsetSample> samples;  // ascending; linear in between
  uint64_t pairs = 0;                 // messages and collectives that were compared with `via`
  bool is_one_way = false;            // unsolved, although messages went in one direction
  std::vector<OffsetSample> steps;    // offset_ns = size of the step
  /// Offset and error at a time of the clock itself; 0 and infinity if unsolved.
  std::pair<double, double> at(int64_t ns) const;
  /// Rate against the reference over the whole run, parts per million (positive: this clock is slow).
  double drift_ppm() const;
};

/// Clock numbers (a, b) with a < b.
using ClockPair = std::pair<size_t, size_t>;
struct ClockSpan { int64_t first_ns, last_ns; };  // of the run, on the clock itself

std::vector<SolvedClock> solve_clocks(const std::vector<ClockSpan> &spans, size_t reference,
                                      const std::map<ClockPair, ClockPairBounds> &bounds);

}  // namespace slurmscope
