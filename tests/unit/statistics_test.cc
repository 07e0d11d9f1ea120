// Statistics against values worked out by hand or by exact enumeration.
#include "tools/model/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace slurmscope {
namespace {

Shift shift_of(const std::vector<double> &x, const std::vector<double> &y, double alpha = 0.05) { return hodges_lehmann(x, y, alpha); }

TEST(Statistics, ThreeAndThreeDisjoint) {
  Shift s = shift_of({100, 101, 102}, {110, 111, 112});
  EXPECT_NEAR(percent_of_log(s.estimate), 9.90, 0.005);
  EXPECT_NEAR(percent_of_log(s.low), 7.84, 0.005);
  EXPECT_NEAR(percent_of_log(s.high), 12.00, 0.005);
  EXPECT_NEAR(s.attained, 0.90, 1e-12);
  EXPECT_NEAR(s.p, 0.10, 1e-12);
  EXPECT_NEAR(s.minimum_p, 0.10, 1e-12);
  EXPECT_DOUBLE_EQ(s.cliff, 1);
  EXPECT_EQ(s.pairs, 9u);
  Verdict v = decide(s, 3, 3, 0.03, 0.05, 0.01);
  EXPECT_EQ(v.kind, VerdictKind::kSlower);
  EXPECT_TRUE(v.provisional);
  EXPECT_EQ(v.text, "SLOWER by at least 7.8% (margin 3%) · provisional: exact 90%, n=3+3 cannot give 95%");
  EXPECT_FALSE(decide(s, 3, 3, 0.03, 0.10, 0.01).provisional);
}

TEST(Statistics, FourAndFourDisjoint) {
  Shift s = shift_of({100, 101, 102, 103}, {110, 111, 112, 113});
  EXPECT_NEAR(s.p, 2.0 / 70, 1e-12);
  EXPECT_NEAR(s.attained, 1 - 2.0 / 70, 1e-12);
}

TEST(Statistics, AttainedConfidenceBySize) {
  auto attained = [](size_t m, size_t n, double alpha) {
    std::vector<double> x, y;
    for (size_t i = 0; i < m; ++i) x.push_back(100 + static_cast<double>(i));
    for (size_t i = 0; i < n; ++i) y.push_back(200 + static_cast<double>(i));
    return 100 * hodges_lehmann(x, y, alpha).attained;
  };
  EXPECT_NEAR(attained(2, 2, 0.05), 66.7, 0.05);
  EXPECT_NEAR(attained(3, 4, 0.05), 94.3, 0.05);
  EXPECT_NEAR(attained(3, 5, 0.05), 96.4, 0.05);
  EXPECT_NEAR(attained(5, 5, 0.05), 96.8, 0.05);
  EXPECT_NEAR(attained(5, 5, 0.001), 99.2, 0.05);  // the most that 5+5 can give
  EXPECT_NEAR(attained(10, 10, 0.05), 95.7, 0.05);
  EXPECT_NEAR(attained(20, 20, 0.05), 95.1, 0.05);
}

TEST(Statistics, MannWhitneyCountsEqualEnumeration) {
  // All C(7,3) orders of 3 and 4 values, counted one by one.
  std::vector<double> counts(13, 0);
  for (int mask = 0; mask < 128; ++mask) {
    if (__builtin_popcount(static_cast<unsigned>(mask)) != 3) continue;
    int u = 0, seen = 0;
    for (int i = 0; i < 7; ++i) {
      if (mask >> i & 1) ++seen;
      else u += seen;
    }
    ++counts[static_cast<size_t>(u)];
  }
  std::vector<double> cdf = mann_whitney_cdf(3, 4);
  double sum = 0;
  for (size_t u = 0; u < cdf.size(); ++u) EXPECT_NEAR(cdf[u], (sum += counts[u]) / 35, 1e-12) << u;
}

TEST(Statistics, TiesCountHalf) {
  Shift s = shift_of({1, 2, 3}, {1, 2, 3});
  EXPECT_DOUBLE_EQ(s.u, 4.5);
  EXPECT_DOUBLE_EQ(s.estimate, 0);
  EXPECT_DOUBLE_EQ(s.p, 1);
}

TEST(Statistics, ManyPairsUseTheNormalApproximation) {
  std::vector<double> x, y;
  for (int i = 0; i < 120; ++i) {
    x.push_back(1000 + i);
    y.push_back(1000 + i + 0.5);
  }
  Shift s = hodges_lehmann(x, y, 0.05);
  EXPECT_EQ(s.pairs, 14400u);
  EXPECT_NEAR(s.attained, 0.95, 0.002);
  EXPECT_LT(s.low, 0);
  EXPECT_GT(s.high, 0);
  EXPECT_GT(s.p, 0.5);
}

TEST(Statistics, RunsNeeded) {
  EXPECT_EQ(runs_needed(0.01, 0.01), 17u);
  EXPECT_EQ(runs_needed(0.01, 0.03), 4u);
  EXPECT_EQ(runs_needed(0.02, 0.03), 8u);
  EXPECT_EQ(runs_needed(0.03, 0.05), 6u);
}

TEST(Statistics, WelchAgainstTheTable) {
  // x = 1..5, y = 3..7: difference 2, SE 1, df 8, t(.975, 8) = 2.306004.
  WelchDifference w = welch({1, 2, 3, 4, 5}, {3, 4, 5, 6, 7}, 0.05);
  EXPECT_DOUBLE_EQ(w.difference, 2);
  EXPECT_NEAR(*w.half_width, 2.306004, 1e-5);
  EXPECT_NEAR(*w.p, 0.080516, 1e-5);
  EXPECT_FALSE(welch({1}, {2, 3}, 0.05).half_width.has_value());
  EXPECT_DOUBLE_EQ(*welch({2, 2}, {2, 2}, 0.05).p, 1);
}

TEST(Statistics, HolmStepsDown) {
  std::vector<bool> r = holm({0.04, 0.01, {}, 0.03}, 0.05);
  EXPECT_EQ(r, (std::vector<bool>{false, true, false, false}));  // .01 <= .05/3, .03 > .05/2
  EXPECT_EQ(holm({0.02, 0.01, 0.04}, 0.05), (std::vector<bool>{true, true, true}));
}

TEST(Statistics, MedianInterval) {
  MedianInterval m = median_interval({5, 1, 4, 2, 3}, 0.1);
  EXPECT_DOUBLE_EQ(m.low, 1);
  EXPECT_DOUBLE_EQ(m.high, 5);
  EXPECT_NEAR(m.confidence, 0.9375, 1e-12);
}

TEST(Statistics, Verdicts) {
  auto verdict = [](double low, double high) {
    Shift s;
    s.low = std::log1p(low / 100);
    s.high = std::log1p(high / 100);
    s.attained = 0.968;
    return decide(s, 5, 5, 0.03, 0.05, 0.02);
  };
  EXPECT_EQ(verdict(-2, 2.9).kind, VerdictKind::kEquivalent);
  EXPECT_EQ(verdict(0.5, 2.9).kind, VerdictKind::kEquivalent);
  EXPECT_EQ(verdict(3.1, 9).text, "SLOWER by at least 3.1% (margin 3%)");
  EXPECT_EQ(verdict(0.5, 9).text, "SLOWER (size vs margin 3% unsettled)");
  EXPECT_EQ(verdict(-9, -3.1).text, "FASTER by at least 3.1% (margin 3%)");
  EXPECT_EQ(verdict(-9, -1).text, "FASTER (size vs margin 3% unsettled)");
  EXPECT_EQ(verdict(-9, 9).text, "INCONCLUSIVE: runs needed per group ≈ 8");
}

TEST(Statistics, SameDistributionIsRarelySignificant) {
  std::mt19937_64 random(1);
  auto noise = [&] {  // sum of uniforms: the same on every standard library
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) / 9007199254740992.0;
    return sum - 6;
  };
  int decided = 0, covered = 0;
  constexpr int kSeeds = 1000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<double> x, y;
    for (int i = 0; i < 5; ++i) x.push_back(100 * std::exp(0.02 * noise()));
    for (int i = 0; i < 5; ++i) y.push_back(100 * std::exp(0.02 * noise()));
    Shift s = hodges_lehmann(x, y, 0.05);
    VerdictKind kind = decide(s, 5, 5, 0.03, 0.05, 0.02).kind;
    decided += kind == VerdictKind::kSlower || kind == VerdictKind::kFaster;
    covered += s.low <= 0 && s.high >= 0;
  }
  EXPECT_LE(decided, 50 + 2 * 7);                // 5 % + 2 sigma
  EXPECT_GE(covered, 968 - 2 * 6);               // attained 96.8 %
}

}  // namespace
}  // namespace slurmscope
