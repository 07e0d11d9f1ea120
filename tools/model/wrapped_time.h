// Arithmetic on times that come from files nobody vouches for: it wraps instead of overflowing. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace slurmscope {

/// to - from, in ns.
inline int64_t time_between(int64_t from, int64_t to) {
  return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}

/// `ns` + `by`.
inline int64_t time_after(int64_t ns, int64_t by) {
  return static_cast<int64_t>(static_cast<uint64_t>(ns) + static_cast<uint64_t>(by));
}

/// `ns` moved by a number that may be anything.
inline int64_t moved_time(int64_t ns, double by) {
  constexpr double kLimit = 9.2e18;
  int64_t step = std::isfinite(by) ? std::llround(std::clamp(by, -kLimit, kLimit)) : 0;
  return static_cast<int64_t>(static_cast<uint64_t>(ns) + static_cast<uint64_t>(step));
}

}  // namespace slurmscope
