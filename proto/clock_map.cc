// Anchors into a piecewise linear map. See clock_map.h.
#include "proto/clock_map.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace slurmscope {
namespace {
// Anchors come from files that nobody vouches for: arithmetic on them wraps instead of overflowing.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t rounded(double value) {
  constexpr double kLimit = 9.2e18;
  return std::isfinite(value) ? static_cast<int64_t>(std::llround(std::clamp(value, -kLimit, kLimit))) : 0;
}
double ticks_between(uint64_t from, uint64_t to) { return static_cast<double>(static_cast<int64_t>(to - from)); }
}  // namespace

void ClockMap::set_ticks_per_second(double rate) {
  // Below one tick per second no clock runs, and the length of a call would be infinite.
  rate_ = std::isfinite(rate) && rate >= 1 ? rate : 0;
}

void ClockMap::add(const v1::ClockAnchors &anchors) {
  int count = std::min({anchors.ticks_size(), anchors.monotonic_ns_size(), anchors.realtime_ns_size()});
  for (int i = 0; i < count; i++)
    anchors_.push_back({anchors.ticks(i), anchors.monotonic_ns(i), anchors.realtime_ns(i)});
}

void ClockMap::prepare() {
  std::stable_sort(anchors_.begin(), anchors_.end(),
                   [](const Anchor &a, const Anchor &b) { return a.ticks < b.ticks; });
  // Keeps only anchors in which both clocks advance: a broken pair would turn time around.
  std::vector<Anchor> kept;
  for (const Anchor &anchor : anchors_)
    if (kept.empty() || (anchor.ticks > kept.back().ticks && anchor.monotonic > kept.back().monotonic))
      kept.push_back(anchor);
  anchors_ = std::move(kept);
}

bool ClockMap::usable() const { return anchors_.size() >= 2 || (anchors_.size() == 1 && rate_ > 0); }

int64_t ClockMap::monotonic_ns(uint64_t ticks) const {
  if (anchors_.empty()) return rate_ > 0 ? rounded(static_cast<double>(ticks) / rate_ * 1e9) : 0;
  const Anchor *from = &anchors_[0];
  double ns_per_tick = rate_ > 0 ? 1e9 / rate_ : 0;
  if (anchors_.size() > 1) {
    const Anchor *to;
    std::tie(from, to) = piece(ticks);
    ns_per_tick = static_cast<double>(difference(to->monotonic, from->monotonic)) /
                  static_cast<double>(to->ticks - from->ticks);
  }
  return sum(from->monotonic, rounded(ticks_between(from->ticks, ticks) * ns_per_tick));
}

int64_t ClockMap::realtime_ns(uint64_t ticks) const {
  int64_t monotonic = monotonic_ns(ticks);
  if (anchors_.empty()) return monotonic;
  if (anchors_.size() == 1) return sum(anchors_[0].realtime, difference(monotonic, anchors_[0].monotonic));
  auto [from, to] = piece(ticks);
  // Beyond the ends the last known difference holds; between anchors it moves linearly.
  int64_t before = difference(from->realtime, from->monotonic), after = difference(to->realtime, to->monotonic);
  double share = ticks_between(from->ticks, ticks) / static_cast<double>(to->ticks - from->ticks);
  double moved = static_cast<double>(difference(after, before)) * std::clamp(share, 0.0, 1.0);
  return sum(monotonic, sum(before, rounded(moved)));
}

int64_t ClockMap::steady_ns(uint64_t ticks) const {
  int64_t monotonic = monotonic_ns(ticks);
  return anchors_.empty() ? monotonic : sum(monotonic, difference(anchors_[0].realtime, anchors_[0].monotonic));
}

std::pair<uint64_t, uint64_t> ClockMap::span() const {
  return anchors_.empty() ? std::pair<uint64_t, uint64_t>{} : std::pair{anchors_.front().ticks, anchors_.back().ticks};
}

double ClockMap::seconds(double ticks) const {
  if (anchors_.size() >= 2)
    return ticks * (static_cast<double>(difference(anchors_.back().monotonic, anchors_.front().monotonic)) /
                    static_cast<double>(anchors_.back().ticks - anchors_.front().ticks)) * 1e-9;
  return rate_ > 0 ? ticks / rate_ : 0;
}

int64_t ClockMap::largest_realtime_step_ns() const {
  int64_t largest = 0;
  for (size_t i = 1; i < anchors_.size(); i++) {
    const Anchor &from = anchors_[i - 1], &to = anchors_[i];
    int64_t step = difference(difference(to.realtime, to.monotonic), difference(from.realtime, from.monotonic));
    if (std::abs(static_cast<double>(step)) > std::abs(static_cast<double>(largest))) largest = step;
  }
  return largest;
}

double ClockMap::largest_rate_change() const {
  double largest = 0, before = 0;
  for (size_t i = 1; i < anchors_.size(); i++) {
    double rate = static_cast<double>(anchors_[i].ticks - anchors_[i - 1].ticks) /
                  static_cast<double>(difference(anchors_[i].monotonic, anchors_[i - 1].monotonic));
    if (before > 0) largest = std::max(largest, std::abs(rate / before - 1));
    before = rate;
  }
  return largest;
}

std::pair<const ClockMap::Anchor *, const ClockMap::Anchor *> ClockMap::piece(uint64_t ticks) const {
  auto after = std::upper_bound(anchors_.begin(), anchors_.end(), ticks,
                                [](uint64_t wanted, const Anchor &anchor) { return wanted < anchor.ticks; });
  auto index = std::clamp<ptrdiff_t>(after - anchors_.begin(), 1, static_cast<ptrdiff_t>(anchors_.size()) - 1);
  return {&anchors_[static_cast<size_t>(index) - 1], &anchors_[static_cast<size_t>(index)]};
}

}  // namespace slurmscope
