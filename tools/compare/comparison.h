// Two groups of runs compared: gates, headline, categories, configuration.
//
// Called by cmd_compare and by tests with facts made by hand. Numbers and normative messages; the page and
// the JSON are made from the result by compare_page.cc and compare_json.cc. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/compare/run_facts.h"
#include "tools/model/statistics.h"
#include "tools/table.h"

namespace slurmscope {

enum class Severity { kRefuse, kDegrade, kWarn };

struct Gate {
  std::string code;        // "E-BIN", "W-TIME"
  Severity severity = Severity::kWarn;
  bool forced = false;     // refused, but --force named it
  std::string text;
};

struct CompareOptions {
  double margin = 0.03, alpha = 0.05;
  bool match_nodes = false;
  std::set<std::string> forced;   // codes without "E-"
};

struct RunGroup {
  std::string key;                // the expression or folder it was selected by
  std::vector<RunFacts> runs;     // by start time
  std::vector<double> walls() const;
};

/// One line of the table of differences; views of later analyses (critical path) use the same.
struct CategoryDelta {
  std::string key, title;
  double base_s = 0, cand_s = 0, delta_s = 0;
  std::optional<double> half_width, p;
  bool significant = false;       // by Holm over all categories
  bool is_part = false;           // a split of the line before it; not part of the sum
  std::optional<double> share;    // of the difference in wall time
};

struct ConfigDifference {
  std::string key, base, cand;
};

struct Comparison {
  RunGroup base, cand;
  CompareOptions options;
  std::vector<Gate> gates;
  bool refused = false;
  bool attribution = true;        // false: a gate allows totals only
  Shift shift;
  Verdict verdict;
  double work_difference = 0;     // largest |ln ratio| of the work fingerprint
  bool interleaved = false;
  std::vector<CategoryDelta> rank_view;
  CategoryDelta total;
  std::vector<ConfigDifference> config;
  std::vector<std::string> notes;
  int equal_keys = 0;             // configuration keys that do not differ
};

Comparison compare_groups(RunGroup base, RunGroup cand, const CompareOptions &options);

/// Gates alone, in the order of the specification. `work_difference` is filled for the page.
std::vector<Gate> check_gates(const RunGroup &base, const RunGroup &cand, const CompareOptions &options, double *work_difference);

/// 0 equivalent or faster, 1 slower by more than the margin, 3 refused, 4 inconclusive.
int exit_code(const Comparison &comparison);

Page compare_page(const Comparison &comparison);
nlohmann::ordered_json compare_json(const Comparison &comparison);

}  // namespace slurmscope
