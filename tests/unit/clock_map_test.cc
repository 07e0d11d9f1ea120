// Ticks to time: drift, one anchor, steps of the wall clock, nonsense.
#include <gtest/gtest.h>

#include "proto/clock_map.h"

namespace slurmscope::test {
namespace {

ClockMap map_of(std::initializer_list<std::tuple<uint64_t, int64_t, int64_t>> anchors, double rate = 0) {
  ClockMap map;
  v1::ClockAnchors packet;
  for (auto [ticks, monotonic, realtime] : anchors) {
    packet.add_ticks(ticks);
    packet.add_monotonic_ns(monotonic);
    packet.add_realtime_ns(realtime);
  }
  map.add(packet);
  map.set_ticks_per_second(rate);
  map.prepare();
  return map;
}
constexpr int64_t kEpoch = 1700000000000000000;

TEST(ClockMap, InterpolatesAndExtrapolates) {
  ClockMap map = map_of({{3000, 2000, kEpoch + 2000}, {0, 1000, kEpoch + 1000}});
  EXPECT_TRUE(map.usable());
  EXPECT_EQ(map.monotonic_ns(1500), 1500);
  EXPECT_EQ(map.realtime_ns(1500), kEpoch + 1500);
  EXPECT_EQ(map.realtime_ns(6000), kEpoch + 3000);
  EXPECT_DOUBLE_EQ(map.seconds(3e9), 1.0);
  EXPECT_EQ(map.largest_realtime_step_ns(), 0);
}

TEST(ClockMap, FollowsDrift) {
  ClockMap map = map_of({{0, 0, kEpoch}, {1000, 1000, kEpoch + 1000}, {2000, 2010, kEpoch + 2010}});
  EXPECT_EQ(map.monotonic_ns(500), 500);
  EXPECT_EQ(map.monotonic_ns(1500), 1505);
  EXPECT_EQ(map.monotonic_ns(3000), 3020);
  EXPECT_NEAR(map.largest_rate_change(), 1 - 1000.0 / 1010, 1e-12);
}

TEST(ClockMap, OneAnchorUsesTheNodesRate) {
  EXPECT_FALSE(map_of({{5000, 100, kEpoch}}).usable());
  ClockMap map = map_of({{5000, 100, kEpoch}}, 2e9);
  EXPECT_TRUE(map.usable());
  EXPECT_EQ(map.monotonic_ns(7000), 1100);
  EXPECT_EQ(map.realtime_ns(4000), kEpoch - 500);
  EXPECT_DOUBLE_EQ(map.seconds(1e9), 0.5);
}

TEST(ClockMap, FindsAStepOfTheWallClock) {
  ClockMap map = map_of({{0, 0, kEpoch}, {10, 1000, kEpoch + 1000}, {20, 2000, kEpoch - 3998000}, {30, 3000, kEpoch - 3997000}});
  EXPECT_EQ(map.largest_realtime_step_ns(), -4000000);
  EXPECT_EQ(map.monotonic_ns(30), 3000) << "durations do not see it";
  EXPECT_EQ(map.realtime_ns(30), kEpoch - 3997000);
}

TEST(ClockMap, DropsAnchorsThatGoBackwards) {
  ClockMap map = map_of({{0, 0, kEpoch}, {10, 10, kEpoch}, {10, 11, kEpoch}, {20, 5, kEpoch}, {30, 30, kEpoch}});
  EXPECT_EQ(map.monotonic_ns(20), 20);
  EXPECT_FALSE(map_of({}).usable());
}

TEST(ClockMap, SurvivesExtremeAnchors) {
  ClockMap map = map_of({{0, INT64_MIN, INT64_MAX}, {UINT64_MAX, INT64_MAX, INT64_MIN}});
  for (uint64_t ticks : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
    map.monotonic_ns(ticks);
    map.realtime_ns(ticks);
  }
  map.largest_realtime_step_ns();
}

}  // namespace
}  // namespace slurmscope::test
