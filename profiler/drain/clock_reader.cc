// See clock_reader.h.
#include "profiler/drain/clock_reader.h"

#include <sys/stat.h>
#include <time.h>
#include <x86intrin.h>

namespace slurmscope {
namespace {

int64_t read_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

}  // namespace

uint64_t monotonic_ns() { return static_cast<uint64_t>(read_ns(CLOCK_MONOTONIC)); }

uint64_t ticks_now(ClockKind clock) { return clock == ClockKind::kTsc ? __rdtsc() : monotonic_ns(); }

ClockAnchor read_anchor() {
  ClockAnchor best{};
  for (int i = 0; i < 7; i++) {
    // The wall clock is between two readings of the monotonic one, the TSC before and after them all.
    uint64_t before = __rdtsc();
    int64_t first = read_ns(CLOCK_MONOTONIC);
    int64_t wall = read_ns(CLOCK_REALTIME);
    int64_t second = read_ns(CLOCK_MONOTONIC);
    uint64_t after = __rdtsc();
    uint64_t width = after - before;
    if (i == 0 || width < best.width) best = {before + width / 2, width, first + (second - first) / 2, wall};
  }
  return best;
}

ClockShift read_clock_shift(const ProcessFile &process) {
  struct stat status;
  if (process.time_namespace == 0 || stat("/proc/self/ns/time", &status) != 0 || status.st_ino == process.time_namespace) return {};
  ClockAnchor anchor{};
  int64_t error = 0;
  for (int i = 0; i < 7; i++) {
    int64_t first = read_ns(CLOCK_MONOTONIC), wall = read_ns(CLOCK_REALTIME), second = read_ns(CLOCK_MONOTONIC);
    if (i != 0 && second - first >= error) continue;
    error = second - first;
    anchor.monotonic = first + (second - first) / 2;
    anchor.realtime = wall;
  }
  // What the process says is not trusted: the difference wraps instead of overflowing.
  auto theirs = static_cast<uint64_t>(process.attach_monotonic_ns) - static_cast<uint64_t>(process.attach_realtime_ns);
  auto ours = static_cast<uint64_t>(anchor.monotonic) - static_cast<uint64_t>(anchor.realtime);
  return {static_cast<int64_t>(theirs - ours), uint64_t{process.clock_error_ns} + static_cast<uint64_t>(error / 2) + 1};
}

void add_anchor(const ClockAnchor &anchor, ClockKind clock, v1::ClockAnchors *to) {
  to->add_ticks(clock == ClockKind::kTsc ? anchor.tsc : static_cast<uint64_t>(anchor.monotonic));
  to->add_monotonic_ns(anchor.monotonic);
  to->add_realtime_ns(anchor.realtime);
  to->add_width_ticks(anchor.width);
}

}  // namespace slurmscope
