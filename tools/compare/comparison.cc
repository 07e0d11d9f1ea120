// See comparison.h.
#include "tools/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace slurmscope {
namespace {

std::vector<double> category_values(const RunGroup &group, size_t category) {
  std::vector<double> values;
  for (const RunFacts &run : group.runs) values.push_back(run.categories[category]);
  return values;
}

CategoryDelta make_delta(const char *key, const char *title, const std::vector<double> &base, const std::vector<double> &cand,
                         double alpha) {
  WelchDifference w = welch(base, cand, alpha);
  CategoryDelta delta;
  delta.key = key;
  delta.title = title;
  delta.base_s = mean(base);
  delta.cand_s = mean(cand);
  delta.delta_s = w.difference;
  delta.half_width = w.half_width;
  delta.p = w.p;
  return delta;
}

/// Node-for-node with fewer ranks: what the missing cores explain, and what each remaining core lost.
void add_lost_cores(Comparison *c) {
  int base_ranks = c->base.runs.front().ranks, cand_ranks = c->cand.runs.front().ranks;
  if (base_ranks == cand_ranks || c->rank_view.empty()) return;
  const CategoryDelta compute = c->rank_view.front();
  double ratio = static_cast<double>(base_ranks) / cand_ranks;
  CategoryDelta lost, rest;
  lost.key = "lost_cores";
  lost.title = "  lost cores (upper bound)";
  lost.base_s = compute.base_s;
  lost.cand_s = compute.base_s * ratio;
  rest.key = "per_core";
  rest.title = "  per core";
  rest.base_s = compute.base_s * ratio;
  rest.cand_s = compute.cand_s;
  for (CategoryDelta *part : {&lost, &rest}) {
    part->delta_s = part->cand_s - part->base_s;
    part->is_part = true;
  }
  c->rank_view.insert(c->rank_view.begin() + 1, {lost, rest});
}

void add_categories(Comparison *c) {
  double alpha = c->options.alpha;
  std::vector<std::optional<double>> p;
  for (size_t i = 0; i < kCategoryCount; ++i) {
    std::vector<double> base = category_values(c->base, i), cand = category_values(c->cand, i);
    bool is_used = false;
    for (double v : base) is_used = is_used || v != 0;
    for (double v : cand) is_used = is_used || v != 0;
    if (!is_used && i != 0) continue;
    c->rank_view.push_back(make_delta(kCategories[i].key, kCategories[i].title, base, cand, alpha));
    p.push_back(c->rank_view.back().p);
  }
  c->total = make_delta("total", "total = wall", c->base.walls(), c->cand.walls(), alpha);
  std::vector<bool> significant = holm(p, 0.05);
  // A share of a difference that may be zero means nothing.
  bool has_difference = c->total.half_width && std::fabs(c->total.delta_s) > *c->total.half_width;
  for (size_t i = 0; i < c->rank_view.size(); ++i) {
    c->rank_view[i].significant = significant[i];
    if (has_difference) c->rank_view[i].share = c->rank_view[i].delta_s / c->total.delta_s;
  }
  if (c->options.match_nodes) add_lost_cores(c);
}

void add_config(Comparison *c) {
  std::set<std::string> keys;
  std::map<std::string, std::set<std::string>> values[2];
  for (int side = 0; side < 2; ++side)
    for (const RunFacts &run : (side == 0 ? c->base : c->cand).runs)
      for (const auto &[key, value] : run.config) {
        keys.insert(key);
        values[side][key].insert(value);
      }
  auto joined = [](const std::set<std::string> &set) {
    std::string text;
    for (const std::string &value : set) text += (text.empty() ? "" : " | ") + value;
    return text.empty() ? std::string("(not readable)") : text;
  };
  for (const std::string &key : keys) {
    if (values[0][key] == values[1][key]) ++c->equal_keys;
    else c->config.push_back({key, joined(values[0][key]), joined(values[1][key])});
  }
}

/// True if neither group ran entirely before the other.
bool is_interleaved(const RunGroup &base, const RunGroup &cand) {
  return base.runs.front().start_ns < cand.runs.back().start_ns && cand.runs.front().start_ns < base.runs.back().start_ns;
}

}  // namespace

std::vector<double> RunGroup::walls() const {
  std::vector<double> values;
  for (const RunFacts &run : runs) values.push_back(run.wall_s);
  return values;
}

Comparison compare_groups(RunGroup base, RunGroup cand, const CompareOptions &options) {
  Comparison c;
  auto by_time = [](const RunFacts &a, const RunFacts &b) { return std::pair(a.start_ns, a.path) < std::pair(b.start_ns, b.path); };
  std::sort(base.runs.begin(), base.runs.end(), by_time);
  std::sort(cand.runs.begin(), cand.runs.end(), by_time);
  c.base = std::move(base);
  c.cand = std::move(cand);
  c.options = options;
  c.gates = check_gates(c.base, c.cand, options, &c.work_difference);
  for (const Gate &gate : c.gates) {
    c.refused = c.refused || (gate.severity == Severity::kRefuse && !gate.forced);
    c.attribution = c.attribution && gate.severity != Severity::kDegrade;
  }
  if (c.refused) return c;

  std::vector<double> x = c.base.walls(), y = c.cand.walls();
  c.interleaved = is_interleaved(c.base, c.cand);
  c.shift = hodges_lehmann(x, y, options.alpha);
  c.verdict = decide(c.shift, x.size(), y.size(), options.margin, options.alpha, pooled_log_sd(x, y));
  add_categories(&c);
  if (!c.attribution) c.rank_view.clear();
  add_config(&c);

  double hl = percent_of_log(c.shift.estimate);
  double means = 100 * (mean(y) / mean(x) - 1);
  double half = (percent_of_log(c.shift.high) - percent_of_log(c.shift.low)) / 2;
  if (std::fabs(hl - means) > half && half > 0)
    c.notes.push_back(fmt::format("mean and HL disagree (outliers): see W-OUTLIER ({:+.1f}% vs {:+.1f}%)", means, hl));
  return c;
}

int exit_code(const Comparison &c) {
  if (c.refused) return 3;
  if (c.verdict.provisional) return 4;
  switch (c.verdict.kind) {
    case VerdictKind::kEquivalent:
    case VerdictKind::kFaster:
      return 0;
    case VerdictKind::kSlower:
      return c.verdict.settled ? 1 : 4;
    case VerdictKind::kInconclusive:
      break;
  }
  return 4;
}

}  // namespace slurmscope
