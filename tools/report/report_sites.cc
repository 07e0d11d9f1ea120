// The call sites of the report: a table for people, all of them with their paths in the JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "tools/export/exporters.h"
#include "tools/model/call_sites.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using Json = nlohmann::ordered_json;
using Place = Symbolizer::Place;

constexpr size_t kShortRows = 12, kShownCallers = 3;

/// "solver.c:42", or "app+0x1234" without debug information.
std::string location_text(const Place &place) {
  if (!place.file.empty() && place.line > 0)
    return fmt::format("{}:{}", std::filesystem::path(place.file).filename().string(), place.line);
  return place.module.empty() ? "" : fmt::format("{}+{:#x}", place.module, place.offset);
}

/// "main < step < exchange" read from the site outward.
std::string callers_text(const CallSiteTotals &site) {
  std::string text;
  for (size_t i = 1; i < site.path.size() && i <= kShownCallers; ++i) text += (i > 1 ? " < " : "") + site.path[i].function;
  if (site.path.size() > kShownCallers + 1 || site.is_truncated) text += text.empty() ? "..." : " < ...";
  return text;
}

Json place_json(const Place &place) {
  return {{"function", printable(place.function)},
          {"file", place.file.empty() ? Json(nullptr) : Json(printable(place.file))},
          {"line", place.line > 0 ? Json(place.line) : Json(nullptr)},
          {"object", printable(place.module)},
          {"offset", fmt::format("{:#x}", place.offset)}};
}

}  // namespace

Table site_table(const World &world, const ReportOptions &options) {
  Table table{"call_sites", "TOP MPI CALL SITES (all ranks)",
              {{"function", "", ColumnKind::kPath}, {"where", "", ColumnKind::kText}, {"call", "", ColumnKind::kText},
               {"count", "", ColumnKind::kCount}, {"bytes", "bytes", ColumnKind::kBytes}, {"time", "s", ColumnKind::kSeconds},
               {"% MPI", "%", ColumnKind::kPercent}, {"called by", "", ColumnKind::kPath}}, {}, {}};
  CallSites found = call_sites(world);
  bool has_paths = std::any_of(found.sites.begin(), found.sites.end(), [](const CallSiteTotals &site) { return !site.path.empty(); });
  if (!has_paths) return table;  // it would say what the table of calls says
  // One row per place in the source: by how many ways it is reached is in the last column.
  struct Row { uint64_t count = 0, bytes = 0; double seconds = 0; std::set<std::string> callers; };
  std::map<std::tuple<std::string, std::string, std::string>, Row> rows;
  for (const CallSiteTotals &site : found.sites) {
    Row &row = site.path.empty() ? rows[{"(unknown)", "", site.call}]
                                 : rows[{site.path[0].function, location_text(site.path[0]), site.call}];
    row.count += site.count;
    row.bytes += site.bytes;
    row.seconds += site.seconds;
    row.callers.insert(callers_text(site));
  }
  for (auto &[key, row] : rows) {
    auto &[function, location, call] = key;
    table.rows.push_back({function, location, call, row.count, row.bytes == 0 ? Cell{} : Cell{row.bytes}, row.seconds,
                          found.mpi_seconds > 0 ? Cell{100 * row.seconds / found.mpi_seconds} : Cell{},
                          row.callers.size() == 1 ? *row.callers.begin() : fmt::format("({} ways)", row.callers.size())});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto &a, const auto &b) { return std::get<double>(a[5]) > std::get<double>(b[5]); });
  if (!options.full && table.rows.size() > kShortRows) {
    table.notes.push_back(fmt::format("... {} more rows: --full", table.rows.size() - kShortRows));
    table.rows.resize(kShortRows);
  }
  table.notes.insert(table.notes.end(), found.complaints.begin(), found.complaints.end());
  return table;
}

Json sites_json(const World &world, std::vector<std::string> *complaints) {
  CallSites found = call_sites(world);
  Json sites = Json::array();
  for (const CallSiteTotals &site : found.sites) {
    Json entry = site.path.empty() ? place_json({"(unknown)", "", "", 0, 0}) : place_json(site.path[0]);
    entry["call"] = printable(site.call);
    entry["count"] = site.count;
    entry["bytes"] = site.bytes;
    entry["time_s"] = std::isfinite(site.seconds) ? Json(site.seconds) : Json(nullptr);
    entry["share_of_mpi"] = found.mpi_seconds > 0 ? Json(site.seconds / found.mpi_seconds) : Json(nullptr);
    entry["callers"] = Json::array();
    for (size_t i = 1; i < site.path.size(); ++i) entry["callers"].push_back(place_json(site.path[i]));
    entry["truncated"] = site.is_truncated;
    sites.push_back(std::move(entry));
  }
  *complaints = std::move(found.complaints);
  return sites;
}

}  // namespace slurmscope
