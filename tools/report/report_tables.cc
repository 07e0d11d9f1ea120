// Time tables of the report: categories, ranks, calls, peers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/report.h"

namespace slurmscope {
namespace {

constexpr size_t kShortRows = 16;

/// Cuts a table to the short form and says what was left out.
void shorten(Table *table, const ReportOptions &options, size_t rows = kShortRows) {
  if (options.full || table->rows.size() <= rows) return;
  table->notes.push_back(fmt::format("... {} more rows: --full", table->rows.size() - rows));
  table->rows.resize(rows);
}

/// Zero of a column that does not apply reads better as "-".
Cell unless_zero(uint64_t value) { return value == 0 ? Cell{} : Cell{value}; }

}  // namespace

Table category_table(const World &world) {
  Table table{"categories", world.is_mpi ? "WHERE THE TIME WENT (seconds per rank)" : "WHERE THE TIME WENT (seconds per process)",
              {{"", "", ColumnKind::kText}, {"mean", "s", ColumnKind::kSeconds}, {"min", "s", ColumnKind::kSeconds},
               {"max", "s", ColumnKind::kSeconds}, {"% wall", "%", ColumnKind::kPercent}}, {}, {}};
  double sum = 0;
  double ranks = static_cast<double>(world.ranks.size());
  for (size_t i = 0; i < kCategoryCount; ++i) {
    double total = 0, low = 0, high = 0;
    bool first = true;
    for (const RankModel &rank : world.ranks) {
      double value = rank.categories[i];
      total += value;
      low = first ? value : std::min(low, value);
      high = first ? value : std::max(high, value);
      first = false;
    }
    if (low == 0 && high == 0) continue;
    double average = total / ranks;
    sum += average;
    table.rows.push_back({kCategories[i].title, average, low, high,
                          world.wall_s > 0 ? Cell{100 * average / world.wall_s} : Cell{}});
  }
  if (table.rows.empty()) return table;
  table.rows.push_back({"total = wall", sum, {}, {}, world.wall_s > 0 ? Cell{100 * sum / world.wall_s} : Cell{}});
  return table;
}

Table rank_table(const World &world, const ReportOptions &options) {
  Table table{"ranks", world.is_mpi ? "RANKS" : "PROCESSES",
              {{world.is_mpi ? "rank" : "process", "", ColumnKind::kCount}, {"host", "", ColumnKind::kText},
               {"pid", "", ColumnKind::kText}, {"wall", "s", ColumnKind::kSeconds}, {"compute", "s", ColumnKind::kSeconds},
               {"MPI", "s", ColumnKind::kSeconds}, {"I/O", "s", ColumnKind::kSeconds}, {"ended", "", ColumnKind::kText}}, {}, {}};
  auto add = [&](const RankModel &rank, bool numbered) {
    std::string end = end_text(rank);
    table.rows.push_back({numbered ? Cell{static_cast<int64_t>(rank.rank)} : Cell{}, rank.host,
                          fmt::format("{}", rank.record->info.pid()), rank.wall_s,
                          rank.categories[static_cast<size_t>(Category::kCompute)],
                          // No call was seen: it may be that MPI is linked in statically.
                          rank.record->info.has_world_rank() ? Cell{rank.mpi_s} : Cell{}, rank.io_s,
                          end.empty() ? Cell{std::string(rank.finalize_seen ? "after MPI_Finalize" : "")} : Cell{end}});
  };
  for (const RankModel &rank : world.ranks) add(rank, true);
  for (const RankModel &rank : world.others) add(rank, false);
  if (!world.others.empty()) table.notes.push_back("rows without a rank are processes of the step that made no MPI call");
  shorten(&table, options);
  return table;
}

Table call_table(const World &world, const ReportOptions &options) {
  struct Sum {
    uint64_t count = 0, bytes = 0, failed = 0;
    double seconds = 0, low = INFINITY, high = 0;
    std::vector<ScaledHistogram> durations;
    /// Never outside what was seen, although a bucket's middle may be.
    double quantile(double q) const { return std::min(std::max(merged_quantile(durations, q), std::min(low, high)), high); }
  };
  std::map<std::string, Sum> sums;
  double rank_seconds = 0;
  for (const RankModel &rank : world.ranks) {
    rank_seconds += world.wall_s;
    for (const CallTotals &call : rank.calls) {
      Sum &sum = sums[call.name];
      sum.count += call.count;
      sum.bytes += call.bytes;
      sum.failed += call.failed;
      sum.seconds += call.seconds;
      if (call.count > 0) sum.low = std::min(sum.low, call.min_seconds);
      sum.high = std::max(sum.high, call.max_seconds);
      sum.durations.push_back({&call.durations, call.seconds_per_tick});
    }
  }
  std::vector<std::pair<std::string, const Sum *>> order;
  for (auto &[name, sum] : sums) order.emplace_back(name, &sum);
  std::stable_sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.second->seconds > b.second->seconds; });

  Table table{"calls", "CALLS (all ranks)",
              {{"call", "", ColumnKind::kText}, {"count", "", ColumnKind::kCount}, {"bytes", "bytes", ColumnKind::kBytes},
               {"time", "s", ColumnKind::kSeconds}, {"% time", "%", ColumnKind::kPercent}, {"p50", "us", ColumnKind::kMicros},
               {"p99", "us", ColumnKind::kMicros}, {"max", "us", ColumnKind::kMicros}, {"failed", "", ColumnKind::kCount}}, {}, {}};
  for (auto &[name, sum] : order)
    table.rows.push_back({name, sum->count, unless_zero(sum->bytes), sum->seconds,
                          rank_seconds > 0 ? Cell{100 * sum->seconds / rank_seconds} : Cell{},
                          1e6 * sum->quantile(0.5), 1e6 * sum->quantile(0.99), 1e6 * sum->high, unless_zero(sum->failed)});
  shorten(&table, options, 20);
  return table;
}

Table matrix_table(const World &world, const ReportOptions &options) {
  Table table{"matrix", "MESSAGES FROM RANK TO RANK (point-to-point, counted at the sender)",
              {{"from", "", ColumnKind::kCount}, {"to", "", ColumnKind::kCount}, {"messages", "", ColumnKind::kCount},
               {"bytes", "bytes", ColumnKind::kBytes}, {"mean size", "bytes", ColumnKind::kBytes}}, {}, {}};
  if (!world.is_mpi) return table;
  struct Entry { int src, dst; uint64_t count, bytes; };
  std::vector<Entry> entries;
  for (const RankModel &rank : world.ranks)
    for (const auto &[peer, stats] : rank.peers)
      if (stats.sent_count > 0) entries.push_back({rank.rank, peer, stats.sent_count, stats.sent_bytes});
  // The short form shows the heaviest pairs, the full one is in rank order.
  if (!options.full)
    std::stable_sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.bytes > b.bytes; });
  for (const Entry &e : entries)
    table.rows.push_back({static_cast<int64_t>(e.src), static_cast<int64_t>(e.dst), e.count, e.bytes,
                          static_cast<double>(e.bytes) / static_cast<double>(e.count)});
  shorten(&table, options);
  return table;
}

}  // namespace slurmscope
