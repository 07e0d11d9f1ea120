// See statistics.h.
#include "tools/model/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace slurmscope {
namespace {

constexpr size_t kExactPairs = 10000;

std::vector<double> logs(const std::vector<double> &values) {
  std::vector<double> result;
  for (double v : values) result.push_back(std::log(v));
  return result;
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double mean(const std::vector<double> &values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(const std::vector<double> &values) {
  if (values.size() < 2) return 0;
  double m = mean(values), sum = 0;
  for (double v : values) sum += (v - m) * (v - m);
  return sum / static_cast<double>(values.size() - 1);
}

double scaled_mad(const std::vector<double> &values) {
  double m = median(values);
  std::vector<double> distance;
  for (double v : values) distance.push_back(std::fabs(v - m));
  return 1.4826 * median(distance);
}

MedianInterval median_interval(std::vector<double> values, double alpha) {
  MedianInterval result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  boost::math::binomial_distribution<double> half(static_cast<double>(n), 0.5);
  size_t k = 1;  // the interval is [x_(k), x_(n+1-k)]; its confidence is 1 - 2 P(B <= k-1)
  while (2 * (k + 1) <= n && cdf(half, static_cast<double>(k)) <= alpha / 2) ++k;
  result.low = values[k - 1];
  result.high = values[n - k];
  result.confidence = std::max(0.0, 1 - 2 * cdf(half, static_cast<double>(k - 1)));
  return result;
}

std::vector<double> mann_whitney_cdf(size_t m, size_t n) {
  // f(m, n, u) = f(m-1, n, u-n) + f(m, n-1, u), one row of m at a time to stay within m*n*n numbers.
  size_t top = m * n;
  std::vector<std::vector<double>> row(n + 1, std::vector<double>(top + 1, 0));
  for (size_t j = 0; j <= n; ++j) row[j][0] = 1;
  for (size_t i = 1; i <= m; ++i) {
    std::vector<std::vector<double>> next(n + 1, std::vector<double>(top + 1, 0));
    next[0][0] = 1;
    for (size_t j = 1; j <= n; ++j)
      for (size_t u = 0; u <= i * j; ++u) next[j][u] = next[j - 1][u] + (u >= j ? row[j][u - j] : 0);
    row = std::move(next);
  }
  double total = std::accumulate(row[n].begin(), row[n].end(), 0.0), sum = 0;
  std::vector<double> result(top + 1);
  for (size_t u = 0; u <= top; ++u) {
    sum += row[n][u];
    result[u] = sum / total;
  }
  return result;
}

Shift hodges_lehmann(const std::vector<double> &baseline, const std::vector<double> &contender, double alpha) {
  std::vector<double> x = logs(baseline), y = logs(contender), d;
  Shift s;
  for (double a : x)
    for (double b : y) {
      d.push_back(b - a);
      s.u += b > a ? 1 : b == a ? 0.5 : 0;
    }
  std::sort(d.begin(), d.end());
  s.pairs = d.size();
  if (d.empty()) return s;
  s.estimate = median(d);
  double pairs = static_cast<double>(s.pairs);
  s.cliff = 2 * s.u / pairs - 1;

  size_t k = 1;  // largest k with P(U <= k-1) <= alpha/2, at least 1
  if (s.pairs <= kExactPairs) {
    std::vector<double> c = mann_whitney_cdf(x.size(), y.size());
    while (k < c.size() && 2 * (k + 1) <= s.pairs + 1 && c[k] <= alpha / 2) ++k;
    s.attained = std::max(0.0, 1 - 2 * c[k - 1]);
    // A tie leaves U between two whole numbers: the larger tail is the safe one.
    double lower = std::min(s.u, pairs - s.u);
    s.p = std::min(1.0, 2 * c[static_cast<size_t>(std::ceil(lower))]);
    s.minimum_p = std::min(1.0, 2 * c[0]);
  } else {
    double m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
    double centre = pairs / 2, sd = std::sqrt(pairs * (m + n + 1) / 12);
    double z = quantile(boost::math::normal_distribution<double>(), 1 - alpha / 2);
    k = static_cast<size_t>(std::max(1.0, std::floor(centre - z * sd)));
    s.attained = 1 - 2 * normal_cdf((static_cast<double>(k) - 0.5 - centre) / sd);
    double distance = std::max(0.0, std::fabs(s.u - centre) - 0.5);
    s.p = std::min(1.0, 2 * (1 - normal_cdf(distance / sd)));
    s.minimum_p = 0;
  }
  s.low = d[k - 1];
  s.high = d[s.pairs - k];
  return s;
}

WelchDifference welch(const std::vector<double> &baseline, const std::vector<double> &contender, double alpha) {
  WelchDifference result;
  result.difference = mean(contender) - mean(baseline);
  double m = static_cast<double>(baseline.size()), n = static_cast<double>(contender.size());
  if (m < 2 || n < 2) return result;
  double a = variance(baseline) / m, b = variance(contender) / n;
  double error = std::sqrt(a + b);
  if (!(error > 0)) {  // no spread at all: the difference is exact as far as these runs can tell
    result.half_width = 0;
    result.p = result.difference == 0 ? 1 : 0;
    return result;
  }
  double df = (a + b) * (a + b) / (a * a / (m - 1) + b * b / (n - 1));
  boost::math::students_t_distribution<double> t(df);
  result.half_width = quantile(t, 1 - alpha / 2) * error;
  result.p = 2 * cdf(complement(t, std::fabs(result.difference) / error));
  return result;
}

std::vector<bool> holm(const std::vector<std::optional<double>> &p, double alpha) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i]) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return *p[a] < *p[b]; });
  std::vector<bool> result(p.size(), false);
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (*p[order[rank]] > alpha / static_cast<double>(order.size() - rank)) break;
    result[order[rank]] = true;
  }
  return result;
}

double pooled_log_sd(const std::vector<double> &baseline, const std::vector<double> &contender) {
  double m = static_cast<double>(baseline.size()), n = static_cast<double>(contender.size());
  if (m + n <= 2) return 0;
  return std::sqrt((variance(logs(baseline)) * (m - 1) + variance(logs(contender)) * (n - 1)) / (m + n - 2));
}

size_t runs_needed(double sigma, double delta) {
  // 2 (z.975 + z.8)^2 / 0.955, 0.955 being the efficiency of the rank test against the t test.
  if (!(delta > 0) || !std::isfinite(sigma)) return 4;
  double runs = std::ceil(16.4 * (sigma / delta) * (sigma / delta) - 1e-9);
  return runs > 1e6 ? 1000000 : std::max<size_t>(4, static_cast<size_t>(runs));
}

double percent_of_log(double x) { return 100 * std::expm1(x); }

Verdict decide(const Shift &shift, size_t m, size_t n, double margin, double alpha, double sigma) {
  Verdict v;
  double low = percent_of_log(shift.low), high = percent_of_log(shift.high), limit = 100 * margin;
  if (high <= limit && low >= -limit) {
    v.kind = VerdictKind::kEquivalent;
    v.settled = true;
    v.text = fmt::format("EQUIVALENT within {:g}%", limit);
  } else if (low > limit) {
    v.kind = VerdictKind::kSlower;
    v.settled = true;
    v.text = fmt::format("SLOWER by at least {:.1f}% (margin {:g}%)", low, limit);
  } else if (low > 0) {
    v.kind = VerdictKind::kSlower;
    v.text = fmt::format("SLOWER (size vs margin {:g}% unsettled)", limit);
  } else if (high < -limit) {
    v.kind = VerdictKind::kFaster;
    v.settled = true;
    v.text = fmt::format("FASTER by at least {:.1f}% (margin {:g}%)", -high, limit);
  } else if (high < 0) {
    v.kind = VerdictKind::kFaster;
    v.text = fmt::format("FASTER (size vs margin {:g}% unsettled)", limit);
  } else {
    v.runs_needed = runs_needed(sigma, margin);
    v.text = fmt::format("INCONCLUSIVE: runs needed per group ≈ {}", *v.runs_needed);
  }
  if (shift.attained < 1 - alpha - 1e-9) {
    v.provisional = true;
    v.text += fmt::format(" · provisional: exact {:.0f}%, n={}+{} cannot give {:g}%", 100 * shift.attained, m, n,
                          100 * (1 - alpha));
  }
  return v;
}

}  // namespace slurmscope
