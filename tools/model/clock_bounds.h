// What causality says about two clocks, and the difference between them that fits it.
//
// D is what must be added to clock b to read as clock a. Nothing arrives before it was sent: a message from a to
// b whose send started at s (on clock a) and whose receive ended at r (on clock b) says D >= s - r. A message the
// other way bounds D from above. Fed by read_events() and by tests with made-up clocks; pure, single-threaded,
// memory bounded: of each of kSlots parts of the run and each direction only the tightest bound is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace slurmscope {

/// D over a part of the run: b's reading + D = a's reading of the same moment.
struct OffsetPiece {
  int64_t from_ns = 0, to_ns = 0;         // on clock a
  double from_offset = 0, to_offset = 0;  // ns, linear in between
  double from_error = 0, to_error = 0;    // half the width of what is possible
};

/// A moment at which no steady difference fits what was before and after it.
struct ClockStep {
  int64_t at_ns = 0;                      // on clock a
  double size_ns = 0;                     // change of D; 0 = not known
};

struct PairOffset {
  enum class Evidence { kNone, kOneWay, kTwoWay };
  Evidence evidence = Evidence::kNone;
  std::vector<OffsetPiece> pieces;        // ascending, without gaps, if the evidence is two-way
  std::vector<ClockStep> steps;
  /// D and its error at a time of clock a.
  std::pair<double, double> at(int64_t ns) const;
  /// The same, for a time of clock b.
  std::pair<double, double> at_b(int64_t ns) const;
  double mean_error() const;
};

class ClockPairBounds {
 public:
  static constexpr size_t kSlots = 512;
  /// Differences of rates beyond this are taken for a step.
  static constexpr double kMaxDrift = 5e-4;
  /// Readings are interpolated between anchors: bounds may contradict each other by this much.
  static constexpr double kToleranceNs = 1000;

  /// The run from and to, on clock a.
  ClockPairBounds(int64_t first_ns, int64_t last_ns);
  /// Something left at `sent` on clock a and had arrived at `received` on clock b.
  void add_a_to_b(int64_t sent, int64_t received);
  void add_b_to_a(int64_t sent, int64_t received);
  uint64_t a_to_b() const { return a_to_b_; }
  uint64_t b_to_a() const { return b_to_a_; }

  PairOffset fit() const;
  /// D and its error at a time of clock a.
  using Offset = std::function<std::pair<double, double>(int64_t)>;
  /// The smallest (arrival - departure) in each direction once b is corrected, ns; nullopt if nothing went that way.
  struct Latency {
    std::optional<double> a_to_b, b_to_a;
    double error = 0;    // the largest of those that apply to them
    double excess = 0;   // by how much one is below -error: the offset, or a clock, is wrong
  };
  Latency latency(const Offset &offset) const;

 private:
  struct Bound { int64_t at; int64_t value; bool is_set = false; };  // a lower or an upper bound of D
  struct Slot { Bound low, high; };
  struct Region;
  size_t slot_of(int64_t ns) const;
  Region region(size_t from, size_t to) const;
  void add_pieces(const Region &region, int64_t from_ns, int64_t to_ns, std::vector<OffsetPiece> *pieces) const;

  int64_t first_, last_;
  uint64_t a_to_b_ = 0, b_to_a_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace slurmscope
