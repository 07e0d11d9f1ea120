// The bucket layout that the format promises, and quantiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "proto/histogram.h"
#include "tests/unit/trace_maker.h"

namespace slurmscope::test {
namespace {

TEST(Histogram, BucketsTileTheRange) {
  for (uint32_t bucket = 0; bucket < Histogram::kLastBucket; bucket++) {
    ASSERT_EQ(Histogram::bucket_of(Histogram::lower_bound(bucket)), bucket);
    ASSERT_EQ(Histogram::bucket_of(Histogram::lower_bound(bucket + 1) - 1), bucket);
  }
  EXPECT_EQ(Histogram::bucket_of(UINT64_MAX), Histogram::kLastBucket);
}

TEST(Histogram, QuantilesAreWithinOnePercent) {
  Random random(11);
  Histogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 20000; i++) values.push_back(random.next() >> (20 + random.below(30)));
  for (uint64_t value : values) histogram.add(value);
  std::sort(values.begin(), values.end());
  for (double q : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    auto rank = std::max<size_t>(1, static_cast<size_t>(std::ceil(q * static_cast<double>(values.size()))));
    auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(histogram.quantile(q), exact, exact * 0.008) << q;
  }
}

TEST(Histogram, SmallCases) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  histogram.add(7);
  EXPECT_EQ(histogram.quantile(0), 7);
  EXPECT_EQ(histogram.quantile(1), 7);
  histogram.add(9, 3);
  EXPECT_EQ(histogram.quantile(0.25), 7);
  EXPECT_EQ(histogram.quantile(0.26), 9);
  histogram.add_bucket(Histogram::kLastBucket + 1, 1);
  EXPECT_EQ(histogram.total(), 4u);
}

TEST(Histogram, MergeIsTheSumInAnyOrder) {
  Random random(5);
  Histogram all, parts[3];
  for (int i = 0; i < 3000; i++) {
    uint64_t value = random.next() >> random.below(64);
    all.add(value);
    parts[random.below(3)].add(value);
  }
  Histogram merged;
  for (int i : {2, 0, 1}) merged.merge(parts[i]);
  EXPECT_EQ(merged, all);
  EXPECT_TRUE(std::is_sorted(all.counts().begin(), all.counts().end()));
}

}  // namespace
}  // namespace slurmscope::test
