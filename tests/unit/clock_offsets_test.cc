// Clocks that are made up, messages between them, and what is found out about the clocks (H2).
#include "tools/model/clock_offsets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tools/model/synchronising_calls.h"

namespace slurmscope {
namespace {

constexpr int64_t kEpoch = 1700000000000000000, kSecondNs = 1000000000;

/// A clock that reads `true time + offset`, with a drift and perhaps a step.
struct FakeClock {
  int64_t offset = 0;
  double drift = 0;
  int64_t step_at = INT64_MAX, step = 0;  // true time
  int64_t read(int64_t time) const {
    return kEpoch + time + offset + std::llround(drift * static_cast<double>(time)) + (time >= step_at ? step : 0);
  }
};

/// Messages of `count` round trips over `duration`, each way at least `latency` plus jitter.
struct Traffic {
  int count = 2000;
  int64_t duration = 100 * kSecondNs, latency = 20000;
  bool forth = true, back = true;
};

void exchange(const FakeClock &a, const FakeClock &b, const Traffic &traffic, ClockPairBounds *bounds) {
  std::mt19937 random(7);
  auto jitter = [&] { return static_cast<int64_t>(random() % 200000); };  // ten times the latency
  for (int i = 0; i < traffic.count; ++i) {
    int64_t time = traffic.duration / traffic.count * i;
    if (traffic.forth) bounds->add_a_to_b(a.read(time), b.read(time + traffic.latency + jitter()));
    if (traffic.back) bounds->add_b_to_a(b.read(time + 500000), a.read(time + 500000 + traffic.latency + jitter()));
  }
}

ClockSpan span_of(const FakeClock &clock, int64_t duration) { return {clock.read(0), clock.read(duration)}; }

ClockPairBounds bounds_between(const FakeClock &a, const FakeClock &b, const Traffic &traffic) {
  ClockSpan span = span_of(a, traffic.duration);
  ClockPairBounds bounds(span.first_ns, span.last_ns);
  exchange(a, b, traffic, &bounds);
  return bounds;
}

/// The offset that a perfect observer would give b at true time `time`.
double truth(const FakeClock &reference, const FakeClock &b, int64_t time) {
  return static_cast<double>(reference.read(time) - b.read(time));
}

void expect_right(const SolvedClock &solved, const FakeClock &reference, const FakeClock &clock, int64_t duration, double most_error) {
  ASSERT_TRUE(solved.is_solved);
  for (int i = 0; i <= 20; ++i) {
    int64_t time = duration / 20 * i;
    auto [offset, error] = solved.at(clock.read(time));
    EXPECT_LE(std::abs(offset - truth(reference, clock, time)), error + 1) << "at " << time;
    EXPECT_LE(error, most_error) << "at " << time;
  }
}

TEST(ClockOffsets, ConstantOffset) {
  FakeClock a, b{-5000 * kSecondNs};
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, {}));
  auto solved = solve_clocks({span_of(a, 100 * kSecondNs), span_of(b, 100 * kSecondNs)}, 0, bounds);
  expect_right(solved[1], a, b, 100 * kSecondNs, 60000);
  EXPECT_NEAR(solved[1].at(b.read(0)).first, 5000e9, 60000);
  EXPECT_TRUE(solved[1].steps.empty());
  EXPECT_EQ(solved[1].pairs, 4000u);
  EXPECT_LT(std::abs(solved[1].drift_ppm()), 1);
  // No message arrives before it was sent once the clocks are put right.
  auto latency = bounds.at({0, 1}).latency([&](int64_t) { return solved[1].at(b.read(0)); });
  EXPECT_GE(*latency.a_to_b, -latency.error);
  EXPECT_GE(*latency.b_to_a, -latency.error);
  EXPECT_EQ(latency.excess, 0);
}

TEST(ClockOffsets, DriftIsFollowed) {
  FakeClock a, b{3000000, 40e-6};
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, {}));
  auto solved = solve_clocks({span_of(a, 100 * kSecondNs), span_of(b, 100 * kSecondNs)}, 0, bounds);
  expect_right(solved[1], a, b, 100 * kSecondNs, 60000);
  EXPECT_NEAR(solved[1].drift_ppm(), -40, 1) << "b is fast";
}

TEST(ClockOffsets, TheReferenceMayHaveTheHigherNumber) {
  FakeClock a{7000000, 10e-6}, b;
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, {}));
  auto solved = solve_clocks({span_of(a, 100 * kSecondNs), span_of(b, 100 * kSecondNs)}, 1, bounds);
  expect_right(solved[0], b, a, 100 * kSecondNs, 60000);
  EXPECT_EQ(solved[0].via, std::optional<size_t>(1));
  EXPECT_FALSE(solved[1].via);
}

TEST(ClockOffsets, AStepIsFoundAndSaid) {
  FakeClock a, b{1000000};
  b.step_at = 60 * kSecondNs;
  b.step = 4000000;  // 4 ms forward
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, {}));
  auto solved = solve_clocks({span_of(a, 100 * kSecondNs), span_of(b, 100 * kSecondNs)}, 0, bounds);
  ASSERT_EQ(solved[1].steps.size(), 1u);
  EXPECT_NEAR(solved[1].steps[0].offset_ns, -4e6, 200000);
  EXPECT_NEAR(static_cast<double>(solved[1].steps[0].at_ns - b.read(60 * kSecondNs - 1)), 0, 1e9);
  for (int64_t time : {int64_t{10}, int64_t{50}, int64_t{65}, int64_t{95}}) {
    auto [offset, error] = solved[1].at(b.read(time * kSecondNs));
    EXPECT_LE(std::abs(offset - truth(a, b, time * kSecondNs)), error + 1) << time;
  }
}

TEST(ClockOffsets, OneWayTrafficSaysNoOffset) {
  FakeClock a, b{2000000};
  Traffic traffic;
  traffic.back = false;
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, traffic));
  auto solved = solve_clocks({span_of(a, traffic.duration), span_of(b, traffic.duration)}, 0, bounds);
  EXPECT_FALSE(solved[1].is_solved);
  EXPECT_TRUE(solved[1].is_one_way);
  EXPECT_EQ(solved[1].at(b.read(0)).first, 0);
  EXPECT_TRUE(std::isinf(solved[1].at(b.read(0)).second));
}

TEST(ClockOffsets, WithoutTrafficNothingIsKnown) {
  FakeClock a, b;
  auto solved = solve_clocks({span_of(a, kSecondNs), span_of(b, kSecondNs)}, 0, {});
  EXPECT_TRUE(solved[0].is_solved);
  EXPECT_FALSE(solved[1].is_solved);
  EXPECT_FALSE(solved[1].is_one_way);
}

TEST(ClockOffsets, ErrorsAddUpAlongAChain) {
  FakeClock a, b{5000000, 20e-6}, c{-8000000, -30e-6};
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, {}));
  bounds.emplace(ClockPair{1, 2}, bounds_between(b, c, {}));
  auto solved = solve_clocks({span_of(a, 100 * kSecondNs), span_of(b, 100 * kSecondNs), span_of(c, 100 * kSecondNs)}, 0, bounds);
  expect_right(solved[1], a, b, 100 * kSecondNs, 60000);
  expect_right(solved[2], a, c, 100 * kSecondNs, 120000);
  EXPECT_EQ(solved[2].via, std::optional<size_t>(1));
  EXPECT_GT(solved[2].at(c.read(0)).second, solved[1].at(b.read(0)).second);
}

TEST(ClockOffsets, TheBetterWayIsTaken) {
  FakeClock a, b{1000}, c{2000};
  Traffic slow;
  slow.latency = 50000000;
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, {}));
  bounds.emplace(ClockPair{0, 2}, bounds_between(a, c, slow));
  bounds.emplace(ClockPair{1, 2}, bounds_between(b, c, {}));
  auto solved = solve_clocks({span_of(a, 100 * kSecondNs), span_of(b, 100 * kSecondNs), span_of(c, 100 * kSecondNs)}, 0, bounds);
  EXPECT_EQ(solved[2].via, std::optional<size_t>(1));
  expect_right(solved[2], a, c, 100 * kSecondNs, 120000);
}

TEST(ClockOffsets, AFewMessagesHaveALargeError) {
  FakeClock a, b{3000000};
  Traffic few;
  few.count = 1;
  std::map<ClockPair, ClockPairBounds> bounds;
  bounds.emplace(ClockPair{0, 1}, bounds_between(a, b, few));
  auto solved = solve_clocks({span_of(a, few.duration), span_of(b, few.duration)}, 0, bounds);
  expect_right(solved[1], a, b, few.duration, 1e9);
  EXPECT_GT(solved[1].at(b.read(few.duration)).second, solved[1].at(b.read(0)).second * 10) << "drift is not known";
}

TEST(ClockOffsets, ContradictionsAreNotForced) {
  ClockPairBounds bounds(kEpoch, kEpoch + kSecondNs);
  bounds.add_a_to_b(kEpoch + 500, kEpoch + 400 - 50000);  // b is at least 50 us behind
  bounds.add_b_to_a(kEpoch + 600, kEpoch + 500);          // and not behind at all, at the same moment
  PairOffset fit = bounds.fit();
  EXPECT_NE(fit.evidence, PairOffset::Evidence::kTwoWay);
  EXPECT_FALSE(fit.steps.empty());
}

TEST(ClockOffsets, SurvivesHostileTimes) {
  ClockPairBounds bounds(INT64_MIN, INT64_MAX);
  for (int64_t time : {INT64_MIN, INT64_MAX, int64_t{0}})
    for (int64_t other : {INT64_MIN, INT64_MAX, int64_t{-1}}) {
      bounds.add_a_to_b(time, other);
      bounds.add_b_to_a(other, time);
    }
  std::map<ClockPair, ClockPairBounds> all;
  all.emplace(ClockPair{0, 1}, bounds);
  solve_clocks({{INT64_MIN, INT64_MAX}, {INT64_MAX, INT64_MIN}}, 0, all);
}

struct Bound { size_t from, to; int64_t sent, received; bool operator==(const Bound &) const = default; };

TEST(SynchronisingCalls, NobodyLeavesBeforeAllHaveEntered) {
  std::vector<Bound> seen;
  SynchronisingCalls calls([&](size_t from, size_t to, int64_t sent, int64_t received) { seen.push_back({from, to, sent, received}); });
  int barrier = synchronising_operation("MPI_Barrier");
  calls.add(7, barrier, 0, 4, 0, 100, 190);
  calls.add(7, barrier, 0, 4, 0, 120, 180);
  calls.add(7, barrier, 0, 4, 1, 1110, 1200);
  EXPECT_TRUE(seen.empty());
  calls.add(7, barrier, 0, 4, 1, 1150, 1170);
  EXPECT_EQ(seen, (std::vector<Bound>{{0, 1, 120, 1170}, {1, 0, 1150, 180}}));
  calls.add(7, barrier, 1, 4, 0, 300, 400);  // two of four
  calls.add(7, barrier, 1, 4, 1, 1300, 1400);
  calls.finish();
  EXPECT_EQ(seen.size(), 4u);
}

TEST(SynchronisingCalls, OnlyThoseThatDo) {
  EXPECT_TRUE(does_synchronise(synchronising_operation("MPI_Barrier"), 0));
  EXPECT_TRUE(does_synchronise(synchronising_operation("MPI_Allreduce"), 8));
  EXPECT_FALSE(does_synchronise(synchronising_operation("MPI_Allreduce"), 0));
  for (const char *name : {"MPI_Bcast", "MPI_Reduce", "MPI_Alltoallv", "MPI_Scan", "MPI_Init", "MPI_Finalize", "MPI_Ibarrier"})
    EXPECT_EQ(synchronising_operation(name), -1) << name;
}

TEST(SynchronisingCalls, MemoryIsBoundedOnTheWayToTheSecondFile) {
  size_t bounds = 0;
  SynchronisingCalls calls([&](size_t, size_t, int64_t, int64_t) { ++bounds; });
  constexpr uint64_t kUses = 3 * SynchronisingCalls::kMaxInstances;
  for (size_t clock : {0u, 1u})
    for (uint64_t use = 0; use < kUses; ++use) calls.add(1, 0, use, 2, clock, 0, 0);
  calls.finish();
  EXPECT_GE(bounds, SynchronisingCalls::kMaxInstances / 2);
  EXPECT_LE(bounds, 2 * SynchronisingCalls::kMaxInstances);
}

}  // namespace
}  // namespace slurmscope
