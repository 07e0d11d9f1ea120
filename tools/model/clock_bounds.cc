// See clock_bounds.h.
//
// A straight line D(t) = c + b * t fits a part of the run if it lies above every lower and below every upper
// bound. For a given b the room for c is known at once, and it is a concave function of b; so are the highest
// and (negated) the lowest D at a given t. All searches are for the top of a concave function of one variable.
#include "tools/model/clock_bounds.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "tools/model/wrapped_time.h"

namespace slurmscope {
namespace {

constexpr int kSearchSteps = 80;

/// Argument at which the concave `value` is largest.
template <typename Function> double top_of(double low, double high, Function value) {
  for (int i = 0; i < kSearchSteps; ++i) {
    double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (value(left) < value(right)) low = left;
    else high = right;
  }
  return (low + high) / 2;
}

/// Between `inside` (where `holds`) and `outside`: how far it holds.
template <typename Predicate> double edge_of(double inside, double outside, Predicate holds) {
  if (holds(outside)) return outside;
  for (int i = 0; i < kSearchSteps; ++i) {
    double middle = (inside + outside) / 2;
    (holds(middle) ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace

/// The bounds of a range of slots as floating-point numbers relative to a reference, and the slopes that fit.
struct ClockPairBounds::Region {
  struct Point { double at, value; };
  std::vector<Point> low, high;
  int64_t at_base = 0, value_base = 0;
  double slack = 0;                        // by how much bounds had to give way
  double slope_low = 0, slope_high = 0;
  bool is_feasible = false;

  double highest(double at, double slope) const {
    double value = INFINITY;
    for (const Point &point : high) value = std::min(value, point.value + slope * (at - point.at));
    return value;
  }
  double lowest(double at, double slope) const {
    double value = -INFINITY;
    for (const Point &point : low) value = std::max(value, point.value + slope * (at - point.at));
    return value;
  }
  double room(double slope) const { return highest(0, slope) - lowest(0, slope); }
  void solve() {
    if (low.empty() || high.empty()) {
      is_feasible = true;
      slope_low = -kMaxDrift;
      slope_high = kMaxDrift;
      return;
    }
    auto room_of = [this](double slope) { return room(slope); };
    double best = top_of(-kMaxDrift, kMaxDrift, room_of), most = room(best);
    is_feasible = most >= -2 * kToleranceNs;
    if (!is_feasible) return;
    slack = std::max(0.0, -most / 2);
    auto fits = [&](double slope) { return room(slope) >= std::min(0.0, most); };
    slope_low = edge_of(best, -kMaxDrift, fits);
    slope_high = edge_of(best, kMaxDrift, fits);
  }
};

std::pair<double, double> PairOffset::at(int64_t ns) const {
  if (pieces.empty()) return {0, INFINITY};
  const OffsetPiece *found = &pieces.front();
  for (const OffsetPiece &piece : pieces)
    if (piece.from_ns <= ns) found = &piece;
  double span = static_cast<double>(time_between(found->from_ns, found->to_ns));
  double share = span > 0 ? std::clamp(static_cast<double>(time_between(found->from_ns, ns)) / span, 0.0, 1.0) : 0;
  return {found->from_offset + share * (found->to_offset - found->from_offset),
          found->from_error + share * (found->to_error - found->from_error)};
}

std::pair<double, double> PairOffset::at_b(int64_t ns) const {
  // a = b + D(a): the first guess is off by at most the drift over D.
  int64_t guess = ns;
  for (int i = 0; i < 3; ++i) guess = moved_time(ns, at(guess).first);
  return at(guess);
}

double PairOffset::mean_error() const {
  double sum = 0, length = 0;
  for (const OffsetPiece &piece : pieces) {
    double span = static_cast<double>(std::max<int64_t>(1, time_between(piece.from_ns, piece.to_ns)));
    sum += span * (piece.from_error + piece.to_error) / 2;
    length += span;
  }
  return length > 0 ? sum / length : INFINITY;
}

ClockPairBounds::ClockPairBounds(int64_t first_ns, int64_t last_ns)
    : first_(first_ns), last_(std::max(first_ns, last_ns)), slots_(kSlots) {}

size_t ClockPairBounds::slot_of(int64_t ns) const {
  double share = static_cast<double>(time_between(first_, ns)) / (static_cast<double>(time_between(first_, last_)) + 1);
  return static_cast<size_t>(std::clamp(share, 0.0, 1.0) * (kSlots - 1));
}

void ClockPairBounds::add_a_to_b(int64_t sent, int64_t received) {
  ++a_to_b_;
  Bound &low = slots_[slot_of(sent)].low;
  int64_t value = time_between(received, sent);
  if (!low.is_set || value > low.value) low = {sent, value, true};
}

void ClockPairBounds::add_b_to_a(int64_t sent, int64_t received) {
  ++b_to_a_;
  Bound &high = slots_[slot_of(received)].high;
  int64_t value = time_between(sent, received);
  if (!high.is_set || value < high.value) high = {received, value, true};
}

ClockPairBounds::Region ClockPairBounds::region(size_t from, size_t to) const {
  Region region;
  region.at_base = first_ + time_between(first_, last_) / 2;
  for (size_t i = from; i < to; ++i) {
    if (slots_[i].low.is_set) region.value_base = slots_[i].low.value;
    else if (slots_[i].high.is_set) region.value_base = slots_[i].high.value;
  }
  auto point = [&](const Bound &bound) {
    return Region::Point{static_cast<double>(time_between(region.at_base, bound.at)),
                         static_cast<double>(time_between(region.value_base, bound.value))};
  };
  for (size_t i = from; i < to; ++i) {
    if (slots_[i].low.is_set) region.low.push_back(point(slots_[i].low));
    if (slots_[i].high.is_set) region.high.push_back(point(slots_[i].high));
  }
  region.solve();
  return region;
}

/// One line's part of the run in a few pieces: what is possible at a time is narrow where messages are and wide
/// beyond, and between two times never wider than a straight line between them.
void ClockPairBounds::add_pieces(const Region &region, int64_t from_ns, int64_t to_ns, std::vector<OffsetPiece> *pieces) const {
  double first = INFINITY, last = -INFINITY;
  for (const std::vector<Region::Point> *points : {&region.low, &region.high}) {
    first = std::min(first, points->front().at);
    last = std::max(last, points->back().at);
  }
  constexpr int kInner = 8;
  std::vector<int64_t> times{from_ns};
  for (int i = 0; i <= kInner; ++i) {
    int64_t time = moved_time(region.at_base, first + (last - first) * i / kInner);
    if (time > times.back() && time < to_ns) times.push_back(time);
  }
  times.push_back(to_ns);
  auto at = [&](int64_t ns, double *offset, double *error) {
    double t = static_cast<double>(time_between(region.at_base, ns));
    double up = region.highest(t, top_of(region.slope_low, region.slope_high, [&](double b) { return region.highest(t, b); }));
    double down = region.lowest(t, top_of(region.slope_low, region.slope_high, [&](double b) { return -region.lowest(t, b); }));
    *offset = (up + down) / 2 + static_cast<double>(region.value_base);
    *error = std::max(0.0, (up - down) / 2) + region.slack;
  };
  for (size_t i = 1; i < times.size(); ++i) {
    OffsetPiece piece{times[i - 1], times[i]};
    if (i == 1) at(piece.from_ns, &piece.from_offset, &piece.from_error);
    else std::tie(piece.from_offset, piece.from_error) = std::pair(pieces->back().to_offset, pieces->back().to_error);
    at(piece.to_ns, &piece.to_offset, &piece.to_error);
    pieces->push_back(piece);
  }
}

PairOffset ClockPairBounds::fit() const {
  PairOffset result;
  if (a_to_b_ == 0 && b_to_a_ == 0) return result;
  result.evidence = a_to_b_ != 0 && b_to_a_ != 0 ? PairOffset::Evidence::kTwoWay : PairOffset::Evidence::kOneWay;
  if (result.evidence == PairOffset::Evidence::kOneWay) return result;

  // The longest part that one line fits, then the next one.
  auto start_of = [&](size_t slot) {
    return moved_time(first_, static_cast<double>(time_between(first_, last_)) * static_cast<double>(slot) / (kSlots - 1));
  };
  for (size_t from = 0; from < kSlots;) {
    Region best = region(from, kSlots);
    size_t fits = kSlots;
    if (!best.is_feasible) {
      size_t good = from, bad = kSlots;  // [from, good) fits, [from, bad) does not
      while (bad - good > 1) {
        size_t middle = good + (bad - good) / 2;
        (region(from, middle).is_feasible ? good : bad) = middle;
      }
      fits = good;
      best = region(from, std::max(good, from + 1));
    }
    if (fits == from) {
      // Bounds of one slot contradict each other: the step is in it.
      result.steps.push_back({start_of(from), 0});
      ++from;
      continue;
    }
    bool is_bounded = !best.low.empty() && !best.high.empty();
    int64_t begin = start_of(from), end = fits == kSlots ? last_ : start_of(fits);
    if (is_bounded) {
      std::vector<OffsetPiece> next;
      add_pieces(best, begin, end, &next);
      if (!result.pieces.empty()) {
        double step = next.front().from_offset - result.pieces.back().to_offset;
        bool is_known = !result.steps.empty() && result.steps.back().at_ns >= result.pieces.back().to_ns;
        if (is_known) result.steps.back().size_ns = step;
        else result.steps.push_back({begin, step});
      }
      result.pieces.insert(result.pieces.end(), next.begin(), next.end());
    } else if (!result.pieces.empty() && (!best.low.empty() || !best.high.empty())) {
      result.steps.push_back({begin, 0});  // what is left contradicts the line, but does not say more
    }
    from = fits;
  }
  if (result.pieces.empty()) result.evidence = PairOffset::Evidence::kOneWay;
  else {
    result.pieces.front().from_ns = std::min(result.pieces.front().from_ns, first_);
    result.pieces.back().to_ns = std::max(result.pieces.back().to_ns, last_);
  }
  return result;
}

ClockPairBounds::Latency ClockPairBounds::latency(const Offset &offset) const {
  Latency latency;
  auto see = [&](const Bound &bound, double sign, std::optional<double> *least) {
    if (!bound.is_set) return;
    auto [value, error] = offset(bound.at);
    double time = sign * (value - static_cast<double>(bound.value));
    if (!*least || time < **least) *least = time;
    latency.error = std::max(latency.error, error);
    latency.excess = std::max(latency.excess, -time - error - kToleranceNs);
  };
  for (const Slot &slot : slots_) {
    see(slot.low, 1, &latency.a_to_b);
    see(slot.high, -1, &latency.b_to_a);
  }
  return latency;
}

}  // namespace slurmscope
