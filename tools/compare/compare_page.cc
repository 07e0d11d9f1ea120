// The page of `slurmscope compare`.
#include <fmt/format.h>

#include <algorithm>

#include "tools/compare/comparison.h"
#include "tools/export/exporters.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

bool has_gate(const Comparison &c, const char *code) {
  return std::any_of(c.gates.begin(), c.gates.end(), [&](const Gate &gate) { return gate.code == code; });
}

std::string same_or_forced(const Comparison &c, const char *name, const char *code) {
  return fmt::format("{} {}", name, has_gate(c, code) ? "DIFFERS (forced)" : "=");
}

std::string group_line(const char *name, const RunGroup &group) {
  std::vector<double> walls = group.walls();
  double centre = median(walls);
  return fmt::format("{} {} s (n={}, min {}, max {}, CV {:.1f}%)", name, seconds_text(centre), walls.size(),
                     seconds_text(*std::min_element(walls.begin(), walls.end())),
                     seconds_text(*std::max_element(walls.begin(), walls.end())), centre > 0 ? 100 * scaled_mad(walls) / centre : 0);
}

std::string p_text(const Comparison &c) {
  // With so few runs the test cannot say more than its own lower limit.
  if (c.shift.minimum_p > c.options.alpha && c.shift.p <= c.shift.minimum_p + 1e-12)
    return fmt::format("p>={:.2f} (minimum possible)", c.shift.minimum_p);
  return fmt::format("p={:.3g}", c.shift.p);
}

std::string shift_line(const Comparison &c) {
  double percent = percent_of_log(c.shift.estimate);
  return fmt::format("cand is {:+.1f}% {}  [{:+.1f}%, {:+.1f}%] {:.1f}% exact CI (Hodges-Lehmann) · {} · {:g}/{} pairs slower", percent,
                     percent > 0 ? "slower" : percent < 0 ? "faster" : "equal", percent_of_log(c.shift.low), percent_of_log(c.shift.high),
                     100 * c.shift.attained, p_text(c), c.shift.u, c.shift.pairs);
}

Table category_table(const Comparison &c) {
  std::string level = fmt::format("±{:g}%", 100 * (1 - c.options.alpha));
  Table table{"rank_view", "WHERE THE DIFFERENCE IS (mean seconds per rank)",
              {{"", "", ColumnKind::kText}, {"base", "s", ColumnKind::kSeconds}, {"cand", "s", ColumnKind::kSeconds},
               {"delta", "s", ColumnKind::kSeconds}, {level, "s", ColumnKind::kSeconds}, {"change", "%", ColumnKind::kPercent},
               {"share", "%", ColumnKind::kPercent}, {"", "", ColumnKind::kText}}, {}, {}};
  auto add = [&](const CategoryDelta &d) {
    table.rows.push_back({d.title, d.base_s, d.cand_s, d.delta_s, d.half_width ? Cell{*d.half_width} : Cell{},
                          d.base_s > 0 ? Cell{100 * (d.cand_s / d.base_s - 1)} : Cell{},
                          d.share ? Cell{100 * *d.share} : Cell{}, std::string(d.significant ? "*" : "")});
  };
  for (const CategoryDelta &delta : c.rank_view) add(delta);
  CategoryDelta total = c.total;
  if (!c.rank_view.empty()) add(total);
  if (table.rows.empty()) return table;
  table.notes.push_back("* Holm p<0.05 over the categories; intervals are Welch's on the means of runs");
  if (has_gate(c, "E-BIN")) table.notes.push_back("attribution: binary+platform");
  if (has_gate(c, "E-DSO")) table.notes.push_back("MPI libraries differ: MPI rows are not the platform's alone");
  return table;
}

Table run_table(const Comparison &c) {
  Table table{"runs", "RUNS",
              {{"group", "", ColumnKind::kText}, {"run", "", ColumnKind::kPath}, {"started", "", ColumnKind::kText},
               {"wall", "s", ColumnKind::kSeconds}, {"ranks", "", ColumnKind::kCount}, {"partition", "", ColumnKind::kText},
               {"virt", "", ColumnKind::kText}}, {}, {}};
  std::vector<std::pair<const char *, const RunFacts *>> runs;
  for (const RunFacts &run : c.base.runs) runs.emplace_back("base", &run);
  for (const RunFacts &run : c.cand.runs) runs.emplace_back("cand", &run);
  std::stable_sort(runs.begin(), runs.end(), [](auto &a, auto &b) { return a.second->start_ns < b.second->start_ns; });
  for (auto &[group, run] : runs)
    table.rows.push_back({std::string(group), run->path, utc_text(run->start_ns), run->wall_s, static_cast<int64_t>(run->ranks),
                          run->partition, run->vm});
  return table;
}

Table config_table(const Comparison &c) {
  Table table{"config_diff", "CONFIGURATION DIFFERENCES (base -> cand)",
              {{"key", "", ColumnKind::kText}, {"base", "", ColumnKind::kText}, {"cand", "", ColumnKind::kText}}, {}, {}};
  for (const ConfigDifference &d : c.config) table.rows.push_back({d.key, d.base, d.cand});
  table.notes.push_back(fmt::format("{} keys are equal", c.equal_keys));
  return table;
}

}  // namespace

Page compare_page(const Comparison &c) {
  const RunFacts &first = c.base.runs.front();
  Page page;
  page.title = fmt::format("slurmscope compare · {}{}{} · base {} n={} · cand {} n={}", first.app, first.build_id.empty() ? "" : " ",
                           first.build_id.substr(0, 8), c.base.key, c.base.runs.size(), c.cand.key, c.cand.runs.size());
  std::string ranks = fmt::format("ranks {}{}{}", first.ranks, first.ranks == c.cand.runs.front().ranks ? "=" : " vs ",
                                  c.cand.runs.front().ranks);
  std::string work = c.work_difference > 1 ? "DIFFERS (forced)" : fmt::format("{:.1f}%", percent_of_log(c.work_difference));
  page.head.emplace_back("comparable", fmt::format("{} · {} · {} · {} · work fingerprint {} · interleaved {} · margin ±{:g}%",
                         same_or_forced(c, "binary", "E-BIN"), same_or_forced(c, "MPI", "E-DSO"), same_or_forced(c, "input", "E-INPUT"),
                         ranks, work, c.interleaved ? "yes" : "no", 100 * c.options.margin));
  for (const Gate &gate : c.gates)
    page.head.emplace_back(gate.code, gate.forced ? gate.text.substr(9) + " (forced)" : gate.text);
  page.head.emplace_back("WALL", group_line("base", c.base));
  page.head.emplace_back("", group_line("cand", c.cand));
  page.head.emplace_back("", shift_line(c));
  page.head.emplace_back("VERDICT", c.verdict.text);
  page.tables.push_back(category_table(c));
  page.tables.push_back(run_table(c));
  page.tables.push_back(config_table(c));
  page.tables.erase(std::remove_if(page.tables.begin(), page.tables.end(),
                                   [](const Table &t) { return t.rows.empty() && t.notes.empty(); }), page.tables.end());
  page.notes = c.notes;
  return page;
}

}  // namespace slurmscope
