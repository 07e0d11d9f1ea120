// Tables of the report beside time: counters, sampled functions, how tasks ended, losses, other steps.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/model/symbols.h"
#include "tools/report/report.h"

namespace slurmscope {

Table counter_table(const World &world, const ReportOptions &options) {
  Table table{"counters", "COUNTERS",
              {{"counter", "", ColumnKind::kText}, {"ranks", "", ColumnKind::kCount}, {"total", "", ColumnKind::kCount},
               {"min", "", ColumnKind::kCount}, {"max", "", ColumnKind::kCount}}, {}, {}};
  struct Sum { int64_t total = 0, low = 0, high = 0; uint64_t ranks = 0; bool complete = true; };
  std::map<std::string, Sum> sums;
  std::set<std::string> errors;
  for (const RankModel &rank : world.ranks)
    for (const CounterValue &counter : rank.counters) {
      if (!counter.value) {
        errors.insert(fmt::format("{}: not available: {}", counter.name, counter.error));
        continue;
      }
      Sum &sum = sums[counter.name];
      sum.low = sum.ranks == 0 ? *counter.value : std::min(sum.low, *counter.value);
      sum.high = sum.ranks == 0 ? *counter.value : std::max(sum.high, *counter.value);
      sum.total += *counter.value;
      sum.complete = sum.complete && counter.complete;
      ++sum.ranks;
    }
  for (auto &[name, sum] : sums) {
    table.rows.push_back({name, sum.ranks, sum.total, sum.low, sum.high});
    if (!sum.complete) table.notes.push_back(fmt::format("{}: some ranks ended before the last reading", name));
  }
  table.notes.insert(table.notes.end(), errors.begin(), errors.end());
  return table;
}

std::vector<FunctionSamples> sampled_functions(const World &world, uint64_t *total) {
  Symbolizer symbolizer;
  std::map<std::pair<std::string, std::string>, FunctionSamples> functions;
  *total = 0;
  auto add = [&](const RankModel &rank) {
    for (auto [site, count] : rank.record->samples) {
      *total += count;
      auto path = rank.record->call_paths.find(site);
      if (path == rank.record->call_paths.end() || path->second.addresses.empty()) {
        functions[{"(unknown)", ""}].self += count;
        continue;
      }
      std::set<std::pair<std::string, std::string>> seen;  // recursion counts once
      for (size_t i = 0; i < path->second.addresses.size(); ++i) {
        const Symbolizer::Place &place = symbolizer.resolve(*rank.record, path->second.addresses[i], i > 0);
        FunctionSamples &entry = functions[{place.function, place.module}];
        if (i == 0) entry.self += count;
        if (seen.insert({place.function, place.module}).second) entry.inclusive += count;
      }
    }
  };
  for (const RankModel &rank : world.ranks) add(rank);
  std::vector<FunctionSamples> result;
  for (auto &[key, entry] : functions) {
    entry.function = key.first;
    entry.module = key.second;
    entry.inclusive = std::max(entry.inclusive, entry.self);
    result.push_back(entry);
  }
  std::stable_sort(result.begin(), result.end(), [](const FunctionSamples &a, const FunctionSamples &b) {
    return std::pair(a.self, a.inclusive) > std::pair(b.self, b.inclusive);
  });
  return result;
}

Table function_table(const World &world, const ReportOptions &options) {
  Table table{"functions", "FUNCTIONS (stack samples on CPU time, all ranks)",
              {{"function", "", ColumnKind::kPath}, {"object", "", ColumnKind::kText}, {"self", "", ColumnKind::kCount},
               {"self %", "%", ColumnKind::kPercent}, {"with callees", "%", ColumnKind::kPercent}}, {}, {}};
  uint64_t total = 0;
  std::vector<FunctionSamples> functions = sampled_functions(world, &total);
  if (total == 0) return table;
  double all = static_cast<double>(total);
  for (const FunctionSamples &f : functions) {
    if (f.self == 0 && !options.full) continue;
    if (table.rows.size() == 15 && !options.full) {
      table.notes.push_back("... more functions: --full");
      break;
    }
    table.rows.push_back({f.function, f.module, f.self, 100 * static_cast<double>(f.self) / all,
                          100 * static_cast<double>(f.inclusive) / all});
  }
  table.notes.push_back(fmt::format("{} samples", total));
  return table;
}

Table end_table(const World &world, const ReportOptions &options) {
  Table table{"ends", "HOW THE TASKS ENDED",
              {{"", "", ColumnKind::kText}, {"host", "", ColumnKind::kText}, {"ended", "", ColumnKind::kText}}, {}, {}};
  size_t good = 0;
  for (const TaskEnd &task : world.tasks) {
    if (task.wait_status == 0 && !options.full) ++good;
    else table.rows.push_back({fmt::format("task {}", task.task), task.host, wait_status_text(task.wait_status)});
  }
  if (good > 0) table.notes.push_back(fmt::format("{} task{} ended with exit code 0", good, good == 1 ? "" : "s"));
  for (const RankModel &rank : world.ranks)
    if (ended_badly(rank))
      table.rows.push_back({fmt::format("{} {}", world.is_mpi ? "rank" : "process", rank.rank), rank.host,
                            (rank.wait_status ? "ended by " : "ended ") + end_text(rank)});
  return table;
}

Table loss_table(const World &world) {
  Table table{"losses", "LOSSES",
              {{"what", "", ColumnKind::kText}, {"where", "", ColumnKind::kText}, {"count", "", ColumnKind::kCount},
               {"time", "s", ColumnKind::kSeconds}}, {}, {}};
  for (const LossModel &loss : world.losses) {
    std::string where = loss.rank ? fmt::format("rank {}", *loss.rank) : loss.host;
    table.rows.push_back({loss.reason, where, loss.count == 0 ? Cell{} : Cell{loss.count},
                          loss.seconds == 0 ? Cell{} : Cell{loss.seconds}});
    if (!loss.detail.empty()) table.notes.push_back(fmt::format("{}: {}", loss.reason, loss.detail));
  }
  if (world.losses.empty()) table.notes.push_back("none");
  return table;
}

Table other_worlds_table(const RunModel &run) {
  Table table{"steps", "OTHER STEPS OF THIS RUN (select with --step)",
              {{"step", "", ColumnKind::kText}, {"ranks", "", ColumnKind::kCount}, {"kind", "", ColumnKind::kText},
               {"wall", "s", ColumnKind::kSeconds}, {"program", "", ColumnKind::kPath}}, {}, {}};
  for (size_t i = 0; i < run.worlds.size(); ++i) {
    if (i == run.selected) continue;
    const World &world = run.worlds[i];
    table.rows.push_back({world.label, static_cast<uint64_t>(world.ranks.size()), world.is_mpi ? "MPI" : "no MPI", world.wall_s,
                          world.ranks.front().record->info.exe()});
  }
  return table;
}

}  // namespace slurmscope
