// The statistics of `compare`: exact Hodges-Lehmann interval, Mann-Whitney p, Welch, Holm, verdict.
//
// Called by tools/compare and by unit tests. Pure functions over runs' values; the run is the unit of
// replication. No interval is ever made by bootstrap: with the few runs people have, a nominal 95 %
// bootstrap interval of a mean covers 80 % (3 runs) to 87 % (5 runs).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace slurmscope {

double median(std::vector<double> values);
double mean(const std::vector<double> &values);
/// Sample variance (n - 1); 0 for fewer than two values.
double variance(const std::vector<double> &values);
/// 1.4826 * median absolute deviation.
double scaled_mad(const std::vector<double> &values);

/// An interval for the median from binomial order statistics, with the confidence it really has.
struct MedianInterval {
  double low = 0, high = 0, confidence = 0;
};
MedianInterval median_interval(std::vector<double> values, double alpha);

/// P(U <= u), u = 0 .. m*n, of the Mann-Whitney statistic without ties.
std::vector<double> mann_whitney_cdf(size_t m, size_t n);

/// Shift of `contender` against `baseline`, both on the log scale.
struct Shift {
  double estimate = 0;        // Hodges-Lehmann, log scale
  double low = 0, high = 0;   // exact interval by inversion of the Mann-Whitney test, log scale
  double attained = 0;        // its true confidence: often not the one that was asked for
  double p = 1;               // two-sided, exact
  double minimum_p = 1;       // the smallest p that these group sizes can give
  double u = 0;               // pairs in which the contender is larger (ties count half)
  double cliff = 0;           // Cliff's delta, 2U/(mn) - 1
  size_t pairs = 0;
};

/// `baseline` and `contender` hold positive values (not logs), each at least one.
/// With more than 10^4 pairs the normal approximation replaces the exact distribution.
Shift hodges_lehmann(const std::vector<double> &baseline, const std::vector<double> &contender, double alpha);

/// Difference of means with Welch's interval. Fewer than two values on a side: no interval.
struct WelchDifference {
  double difference = 0;
  std::optional<double> half_width;  // of the 1 - alpha interval
  std::optional<double> p;           // two-sided
};
WelchDifference welch(const std::vector<double> &baseline, const std::vector<double> &contender, double alpha);

/// Holm's step-down: which of the p values are significant together at `alpha`. Absent p: never.
std::vector<bool> holm(const std::vector<std::optional<double>> &p, double alpha);

enum class VerdictKind { kEquivalent, kSlower, kFaster, kInconclusive };

struct Verdict {
  VerdictKind kind = VerdictKind::kInconclusive;
  bool settled = false;       // the whole interval lies beyond (or within) the margin
  bool provisional = false;   // the attained confidence is below the one asked for
  std::optional<size_t> runs_needed;  // per group, when inconclusive
  std::string text;
};

/// `margin` as a fraction (0.03); `sigma` is the pooled SD of the log values.
Verdict decide(const Shift &shift, size_t m, size_t n, double margin, double alpha, double sigma);

/// Pooled standard deviation of the logs of two groups.
double pooled_log_sd(const std::vector<double> &baseline, const std::vector<double> &contender);

/// Runs per group to tell a relative difference `delta` at noise `sigma`, power 80 %, level 5 %.
size_t runs_needed(double sigma, double delta);

/// 100 * (e^x - 1).
double percent_of_log(double x);

}  // namespace slurmscope
