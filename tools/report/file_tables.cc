// Files of the report: by rank, and those that several ranks share. Sockets are among them, by their peer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/export/exporters.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShortRows = 12;

Cell unless_zero(uint64_t value) { return value == 0 ? Cell{} : Cell{value}; }
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double seconds_of(const FileTotals &file) { return file.read_seconds + file.write_seconds + file.metadata_seconds; }

/// Calls `visit(rank, is_numbered)` for all processes.
template <typename Visit> void for_processes(const World &world, Visit visit) {
  for (const RankModel &rank : world.ranks) visit(rank, true);
  for (const RankModel &rank : world.others) visit(rank, false);
}

/// Longest first, cut to the short form.
void fill(std::vector<std::pair<double, std::vector<Cell>>> *rows, const ReportOptions &options, Table *table) {
  std::stable_sort(rows->begin(), rows->end(), [](auto &a, auto &b) { return a.first > b.first; });
  for (auto &[seconds, row] : *rows) table->rows.push_back(std::move(row));
  if (options.full || table->rows.size() <= kShortRows) return;
  table->notes.push_back(fmt::format("... {} more rows: --full", table->rows.size() - kShortRows));
  table->rows.resize(kShortRows);
}

/// One path as several processes used it.
struct SharedFile {
  FileTotals totals;
  std::set<std::pair<std::string, uint32_t>> hosts_and_pids;
  std::set<std::string> hosts;
  double longest = 0;  // seconds of one process
};

/// A path of a file system that each node has for itself is another file on each of them: only where the type says
/// that it is not, and on one node, is it known to be shared.
bool is_same_everywhere(const std::string &filesystem) {
  static const std::set<std::string> kNetwork = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "cifs", "smb3", "9p",
                                                 "panfs", "orangefs", "pvfs2", "glusterfs", "fuse.glusterfs", "afs", "virtiofs", "wekafs"};
  return kNetwork.count(filesystem) != 0;
}

std::map<std::string, SharedFile> shared_files(const World &world) {
  std::map<std::string, SharedFile> files;
  for_processes(world, [&](const RankModel &rank, bool) {
    for (const FileTotals &file : rank.files) {
      if (file.path.empty() || file.path[0] != '/') continue;  // "pipe:", "tty:", a peer's address: not one thing
      std::string key = file.path + '\0' + (is_same_everywhere(file.filesystem) ? "" : rank.host);
      SharedFile &shared = files[key];
      shared.totals.path = file.path;
      shared.totals.filesystem = file.filesystem;
      shared.totals.mount = file.mount;
      shared.totals.stats.merge(file.stats);
      shared.totals.read_seconds += file.read_seconds;
      shared.totals.write_seconds += file.write_seconds;
      shared.totals.metadata_seconds += file.metadata_seconds;
      shared.longest = std::max(shared.longest, seconds_of(file));
      shared.hosts_and_pids.insert({rank.host, rank.process_id});
      shared.hosts.insert(rank.host);
    }
  });
  std::erase_if(files, [](const auto &entry) { return entry.second.hosts_and_pids.size() < 2; });
  return files;
}

/// Bytes per second from the first read or write to the end of the last.
Cell rate_of(const FileTotals &file) {
  uint64_t bytes = file.stats.bytes_read + file.stats.bytes_written;
  return bytes != 0 && file.use_seconds > 0 ? Cell{static_cast<double>(bytes) / file.use_seconds} : Cell{};
}

Json sizes_json(const std::map<uint32_t, uint64_t> &sizes) {
  Json json = Json::array();
  for (auto [bin, count] : sizes)
    json.push_back({{"from", bin == 0 ? 0 : uint64_t{1} << (bin - 1)}, {"count", count}});
  return json;
}

Json span_json(const Span &span, double seconds) { return span.last_ticks != 0 ? number(seconds) : Json(nullptr); }

Json file_json(const FileTotals &file, Json who) {
  return {{"path", printable(file.path)},
          {"rank", who},
          {"reads", file.stats.reads},
          {"writes", file.stats.writes},
          {"bytes_read", file.stats.bytes_read},
          {"bytes_written", file.stats.bytes_written},
          {"opens", file.stats.opens},
          {"closes", file.stats.closes},
          {"metadata", file.stats.metadata},
          {"read_s", number(file.read_seconds)},
          {"write_s", number(file.write_seconds)},
          {"metadata_s", number(file.metadata_seconds)},
          {"read_span_s", span_json(file.stats.reading, file.reading_seconds)},
          {"write_span_s", span_json(file.stats.writing, file.writing_seconds)},
          {"sequential", file.stats.sequential},
          {"strided", file.stats.strided},
          {"random", file.stats.random},
          {"filesystem", printable(file.filesystem)},
          {"mount", printable(file.mount)},
          {"unaligned", file.stats.unaligned},
          {"direct_opens", file.stats.direct_opens},
          {"maps", file.stats.maps},
          {"bytes_mapped", file.stats.bytes_mapped},
          {"read_sizes", sizes_json(file.stats.read_sizes)},
          {"write_sizes", sizes_json(file.stats.write_sizes)}};
}

}  // namespace

Table file_table(const World &world, const ReportOptions &options) {
  Table table{"files", "FILES",
              {{"path", "", ColumnKind::kPath}, {"type", "", ColumnKind::kText}, {"rank", "", ColumnKind::kCount},
               {"reads", "", ColumnKind::kCount}, {"read", "bytes", ColumnKind::kBytes}, {"writes", "", ColumnKind::kCount},
               {"written", "bytes", ColumnKind::kBytes}, {"opens", "", ColumnKind::kCount}, {"time", "s", ColumnKind::kSeconds},
               {"per s", "bytes", ColumnKind::kBytes}}, {}, {}};
  std::vector<std::pair<double, std::vector<Cell>>> rows;
  // Sums of I/O without the early calls would be too small without a mark.
  uint64_t calls = 0, bytes = 0, mapped = 0;
  for_processes(world, [&](const RankModel &rank, bool is_numbered) {
    for (const FileTotals &file : rank.files) {
      rows.push_back({seconds_of(file), {file.path, file.filesystem.empty() ? Cell{} : Cell{file.filesystem},
                                         is_numbered ? Cell{static_cast<int64_t>(rank.rank)} : Cell{}, file.stats.reads,
                                         unless_zero(file.stats.bytes_read), file.stats.writes, unless_zero(file.stats.bytes_written),
                                         file.stats.opens, seconds_of(file), rate_of(file)}});
      mapped += file.stats.bytes_mapped;
    }
    calls += rank.record->info.early_io_calls();
    bytes += rank.record->info.early_io_bytes();
  });
  fill(&rows, options, &table);
  if (mapped != 0)
    table.notes.push_back(fmt::format("{} bytes of files were mapped; what was read and written there is not in the table", mapped));
  if (calls != 0)
    table.notes.push_back(fmt::format("not in the table and not timed: {} calls that moved {} bytes before their process was recorded",
                                      calls, bytes));
  return table;
}

Table shared_file_table(const World &world, const ReportOptions &options) {
  Table table{"shared_files", "SHARED FILES",
              {{"path", "", ColumnKind::kPath}, {"type", "", ColumnKind::kText}, {"processes", "", ColumnKind::kCount},
               {"reads", "", ColumnKind::kCount}, {"read", "bytes", ColumnKind::kBytes}, {"writes", "", ColumnKind::kCount},
               {"written", "bytes", ColumnKind::kBytes}, {"time", "s", ColumnKind::kSeconds}, {"max", "s", ColumnKind::kSeconds}}, {}, {}};
  std::vector<std::pair<double, std::vector<Cell>>> rows;
  for (const auto &[key, shared] : shared_files(world)) {
    const FileTotals &file = shared.totals;
    rows.push_back({seconds_of(file), {file.path, file.filesystem.empty() ? Cell{} : Cell{file.filesystem},
                                       static_cast<uint64_t>(shared.hosts_and_pids.size()), file.stats.reads,
                                       unless_zero(file.stats.bytes_read), file.stats.writes, unless_zero(file.stats.bytes_written),
                                       seconds_of(file), shared.longest}});
  }
  fill(&rows, options, &table);
  return table;
}

nlohmann::ordered_json files_json(const World &world) {
  Json json = Json::array();
  for_processes(world, [&](const RankModel &rank, bool is_numbered) {
    for (const FileTotals &file : rank.files) json.push_back(file_json(file, is_numbered ? Json(rank.rank) : Json(nullptr)));
  });
  return json;
}

nlohmann::ordered_json shared_files_json(const World &world) {
  Json json = Json::array();
  for (const auto &[key, shared] : shared_files(world)) {
    Json entry = file_json(shared.totals, nullptr);
    for (const char *of_one : {"rank", "read_span_s", "write_span_s"}) entry.erase(of_one);
    entry["processes"] = shared.hosts_and_pids.size();
    entry["hosts"] = Json::array();
    for (const std::string &host : shared.hosts) entry["hosts"].push_back(printable(host));
    entry["max_s"] = number(shared.longest);
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace slurmscope
