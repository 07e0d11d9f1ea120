// The longest time between calls and in one call (H4).
#include "tools/model/largest_gaps.h"

#include <gtest/gtest.h>

namespace slurmscope {
namespace {

TraceEvent row(uint32_t call, uint64_t start, uint64_t end, RowKind kind = RowKind::kCall) {
  TraceEvent row;
  row.call = call;
  row.start = start;
  row.end = end;
  row.kind = kind;
  return row;
}

TEST(LargestGaps, OutsideAndInside) {
  GapFinder finder;
  EXPECT_FALSE(finder.result(1));
  finder.add(1, row(4, 100, 900), true);  // setup is no longest call; what was before the first call is no gap
  finder.add(1, row(5, 1000, 1100));
  finder.add(1, row(6, 1200, 1500));
  finder.add(1, row(9, 0, 1500, RowKind::kCompletion));
  finder.add(1, row(7, 4000, 4010));
  finder.add(1, row(8, 4015, 4020));
  auto gaps = finder.result(1);
  ASSERT_TRUE(gaps);
  EXPECT_EQ(gaps->outside.start, 1500u);
  EXPECT_EQ(gaps->outside.ticks, 2500u);
  EXPECT_EQ(gaps->outside.after, 6u);
  EXPECT_EQ(gaps->outside.before, 7u);
  EXPECT_EQ(gaps->inside.start, 1200u);
  EXPECT_EQ(gaps->inside.ticks, 300u);
  EXPECT_EQ(gaps->inside.call, 6u);
}

TEST(LargestGaps, PollsAreManyShortCalls) {
  GapFinder finder;
  finder.add(1, row(5, 1000, 1100));
  TraceEvent polls = row(6, 1100, 9100, RowKind::kPolls);
  polls.request = 100;
  polls.offset = 3000;
  finder.add(1, polls);
  polls = row(7, 1150, 9120, RowKind::kPolls);  // in turn with the others
  polls.offset = 7000;
  finder.add(1, polls);
  finder.add(1, row(8, 9130, 9140));
  auto gaps = finder.result(1);
  EXPECT_EQ(gaps->outside.ticks, 5000u);
  EXPECT_EQ(gaps->outside.start, 1100u);
  EXPECT_EQ(gaps->inside.ticks, 100u);
}

TEST(LargestGaps, OfTheMainThreadOrTheBusiest) {
  GapFinder finder;
  finder.add(2, row(1, 0, 10));
  finder.add(2, row(1, 1000, 1010));
  finder.add(3, row(1, 0, 10));
  EXPECT_EQ(finder.result(3)->outside.ticks, 0u);
  EXPECT_EQ(finder.result(1)->outside.ticks, 990u) << "the main thread made no call: the one with most";
}

}  // namespace
}  // namespace slurmscope
