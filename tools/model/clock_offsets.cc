// See clock_offsets.h.
#include "tools/model/clock_offsets.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "tools/model/wrapped_time.h"

namespace slurmscope {
namespace {

double distance(int64_t from, int64_t to) { return static_cast<double>(time_between(from, to)); }

/// D of a pair from the side of `child`: what must be added to it to read as the other one, at its own time.
std::pair<double, double> to_parent(const PairOffset &offset, bool child_is_b, int64_t ns) {
  auto [value, error] = child_is_b ? offset.at_b(ns) : offset.at(ns);
  return {child_is_b ? value : -value, error};
}

/// Times of `child`'s clock at which its offset to the parent may bend or jump.
std::vector<int64_t> bends(const PairOffset &offset, bool child_is_b, const ClockSpan &span) {
  std::vector<int64_t> times{span.first_ns, span.last_ns};
  for (const OffsetPiece &piece : offset.pieces) {
    // Both sides of a jump, a nanosecond apart.
    int64_t to = child_is_b ? moved_time(piece.to_ns, -piece.to_offset) : piece.to_ns;
    int64_t from = child_is_b ? moved_time(piece.from_ns, -piece.from_offset) : piece.from_ns;
    times.insert(times.end(), {from, moved_time(to, -1)});
  }
  return times;
}

struct Solver {
  const std::vector<ClockSpan> &spans;
  std::map<ClockPair, PairOffset> fits;
  std::vector<SolvedClock> clocks;
  std::vector<double> total;  // error on the way to the reference

  const PairOffset &fit(size_t a, size_t b) const { return fits.at({std::min(a, b), std::max(a, b)}); }

  void add_samples(size_t child, size_t parent) {
    SolvedClock &clock = clocks[child];
    const PairOffset &offset = fit(child, parent);
    bool is_b = child > parent;
    std::vector<int64_t> times = bends(offset, is_b, spans[child]);
    for (const OffsetSample &sample : clocks[parent].samples) {
      // The parent's own bends, on this clock: the offset at about that time tells where that is.
      auto [value, error] = is_b ? offset.at(sample.at_ns) : offset.at_b(sample.at_ns);
      times.push_back(moved_time(sample.at_ns, is_b ? -value : value));
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (int64_t time : times) {
      if (time < spans[child].first_ns || time > spans[child].last_ns) continue;
      auto [value, error] = to_parent(offset, is_b, time);
      auto [further, further_error] = clocks[parent].at(moved_time(time, value));
      clock.samples.push_back({time, value + further, error + further_error});
    }
    for (const ClockStep &step : offset.steps)
      clock.steps.push_back({is_b ? moved_time(step.at_ns, -offset.at(step.at_ns).first) : step.at_ns,
                             is_b ? step.size_ns : -step.size_ns, 0});
    clock.is_solved = true;
    clock.via = parent;
  }
};

}  // namespace

std::pair<double, double> SolvedClock::at(int64_t ns) const {
  if (samples.empty()) return {0, INFINITY};
  auto after = std::lower_bound(samples.begin(), samples.end(), ns, [](const OffsetSample &s, int64_t at) { return s.at_ns < at; });
  if (after == samples.begin()) return {after->offset_ns, after->error_ns};
  auto before = std::prev(after);
  if (after == samples.end()) return {before->offset_ns, before->error_ns};
  double share = distance(before->at_ns, ns) / distance(before->at_ns, after->at_ns);
  return {before->offset_ns + share * (after->offset_ns - before->offset_ns),
          before->error_ns + share * (after->error_ns - before->error_ns)};
}

double SolvedClock::drift_ppm() const {
  if (samples.size() < 2) return 0;
  double span = distance(samples.front().at_ns, samples.back().at_ns);
  return span > 0 ? (samples.back().offset_ns - samples.front().offset_ns) / span * 1e6 : 0;
}

std::vector<SolvedClock> solve_clocks(const std::vector<ClockSpan> &spans, size_t reference,
                                      const std::map<ClockPair, ClockPairBounds> &bounds) {
  Solver solver{spans, {}, std::vector<SolvedClock>(spans.size()), std::vector<double>(spans.size(), INFINITY)};
  std::vector<std::vector<size_t>> neighbours(spans.size());
  for (const auto &[pair, bound] : bounds) {
    PairOffset fit = bound.fit();
    if (fit.evidence == PairOffset::Evidence::kTwoWay) {
      neighbours[pair.first].push_back(pair.second);
      neighbours[pair.second].push_back(pair.first);
    } else if (fit.evidence == PairOffset::Evidence::kOneWay) {
      for (size_t clock : {pair.first, pair.second}) solver.clocks[clock].is_one_way = true;
    }
    solver.fits.emplace(pair, std::move(fit));
  }

  // Dijkstra's way over the mean errors.
  using Next = std::pair<double, size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  std::vector<size_t> parent(spans.size(), reference);
  std::vector<bool> is_done(spans.size(), false);
  solver.total[reference] = 0;
  queue.push({0, reference});
  while (!queue.empty()) {
    auto [error, clock] = queue.top();
    queue.pop();
    if (is_done[clock]) continue;
    is_done[clock] = true;
    if (clock == reference) {
      SolvedClock &own = solver.clocks[clock];
      own.is_solved = true;
      own.samples = {{spans[clock].first_ns, 0, 0}, {spans[clock].last_ns, 0, 0}};
    } else {
      solver.add_samples(clock, parent[clock]);
      const ClockPairBounds &bound = bounds.at({std::min(clock, parent[clock]), std::max(clock, parent[clock])});
      solver.clocks[clock].pairs = bound.a_to_b() + bound.b_to_a();
    }
    solver.clocks[clock].is_one_way = false;
    for (size_t other : neighbours[clock]) {
      double through = error + solver.fit(clock, other).mean_error();
      if (is_done[other] || through >= solver.total[other]) continue;
      solver.total[other] = through;
      parent[other] = clock;
      queue.push({through, other});
    }
  }
  return std::move(solver.clocks);
}

}  // namespace slurmscope
