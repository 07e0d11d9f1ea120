// `report --json`. The keys of schema_version 1 are a promise: they are never renamed or removed.
#include <fmt/format.h>

#include <cmath>

#include "proto/version.h"
#include "tools/export/exporters.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN and no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json category_json(const CategoryTimes &times) {
  Json json = Json::object();
  for (size_t i = 0; i < kCategoryCount; ++i) json[kCategories[i].key] = number(times[i]);
  return json;
}

Json call_json(const CallTotals &call) {
  return {{"name", printable(call.name)},
          {"count", call.count},
          {"bytes", call.bytes},
          {"time_s", number(call.seconds)},
          {"p50_us", number(1e6 * call.quantile(0.5))},
          {"p99_us", number(1e6 * call.quantile(0.99))},
          {"min_us", number(1e6 * call.min_seconds)},
          {"max_us", number(1e6 * call.max_seconds)},
          {"failed", call.failed}};
}

Json counters_json(const RankModel &rank) {
  Json json = Json::array();
  for (const CounterValue &counter : rank.counters)
    json.push_back({{"name", printable(counter.name)},
                    {"value", counter.value ? Json(*counter.value) : Json(nullptr)},
                    {"error", printable(counter.error)},
                    {"complete", counter.complete}});
  return json;
}

Json rank_json(const World &world, const RankModel &rank) {
  const v1::Process &info = rank.record->info;
  Json json = {{"rank", rank.rank}, {"host", printable(rank.host)}, {"pid", info.pid()}, {"exe", printable(info.exe())},
               {"wall_s", number(rank.wall_s)}, {"mpi_s", number(rank.mpi_s)}, {"io_s", number(rank.io_s)}};
  json["calls"] = Json::array();
  for (const CallTotals &call : rank.calls) json["calls"].push_back(call_json(call));
  json["categories"] = category_json(rank.categories);
  json["finalized"] = rank.finalize_seen;
  json["ended"] = {{"wait_status", rank.wait_status ? Json(*rank.wait_status) : Json(nullptr)}, {"text", end_text(rank)}};
  json["counters"] = counters_json(rank);
  json["early_io"] = {{"calls", info.early_io_calls()}, {"bytes", info.early_io_bytes()}};
  json["largest_gaps"] = gaps_json(world, rank);
  return json;
}

Json loss_json(const LossModel &loss) {
  return {{"reason", printable(loss.reason)}, {"rank", loss.rank ? Json(*loss.rank) : Json(nullptr)},
          {"host", printable(loss.host)}, {"count", loss.count}, {"time_s", number(loss.seconds)},
          {"detail", printable(loss.detail)}};
}

Json node_json(const Stream &stream) {
  const v1::Node &node = stream.node;
  const v1::Virtualization &v = node.virtualization();
  Json facts = Json::object();
  for (const v1::Fact &fact : node.facts()) facts[printable(fact.name())] = printable(fact.value());
  return {{"host", printable(stream.host())}, {"vm", printable(v.vm())}, {"container", printable(v.container())},
          {"confidence", printable(v.confidence())}, {"steal", printable(v.steal())}, {"cpu_model", printable(node.cpu_model())},
          {"cpus", node.cpus_online()}, {"memory_bytes", node.memory_bytes()}, {"kernel", printable(node.kernel())},
          {"os", printable(node.os())}, {"clock_source", printable(node.clock_source())}, {"facts", facts}};
}

Json job_json(const World &world) {
  const v1::Run &run = world.run;
  return {{"id", printable(run.job())},
          {"step", printable(world.label)},
          {"partition", printable(run.partition())},
          {"nodes", world.hosts},
          {"name", printable(run.job_name())},
          {"user", printable(run.user())},
          {"cluster", printable(run.cluster())},
          {"restart", run.restart()},
          {"array_job", printable(run.array_job())},
          {"array_task", printable(run.array_task())},
          {"starter", printable(run.starter())},
          {"tasks", run.tasks()}};
}

}  // namespace

nlohmann::ordered_json report_json(const RunModel &run) {
  const World &world = run.chosen();
  Json json;
  json["schema_version"] = 1;
  json["job"] = job_json(world);
  json["wall_s"] = number(world.wall_s);
  json["start_realtime_ns"] = world.start_ns;
  json["mode"] = world.streams.front()->header.mode() == v1::Header::MODE_TRACE ? "trace" : "summary";
  json["mpi"] = world.is_mpi;
  json["mpi_library"] = printable(world.mpi_library());
  json["world_size"] = world.size;
  json["complete"] = world.complete();
  json["ranks"] = Json::array();
  for (const RankModel &rank : world.ranks) json["ranks"].push_back(rank_json(world, rank));
  json["processes"] = Json::array();
  for (const RankModel &rank : world.others) {
    Json process = rank_json(world, rank);
    process.erase("rank");
    json["processes"].push_back(process);
  }
  json["matrix"] = Json::array();
  if (world.is_mpi)
    for (const RankModel &rank : world.ranks)
      for (const auto &[peer, stats] : rank.peers)
        if (stats.sent_count > 0)
          json["matrix"].push_back({{"src", rank.rank}, {"dst", peer}, {"count", stats.sent_count}, {"bytes", stats.sent_bytes}});
  json["files"] = files_json(world);
  json["shared_files"] = shared_files_json(world);
  json["losses"] = Json::array();
  json["stalls"] = Json::array();
  for (const LossModel &loss : world.losses) json[loss.reason == "stall" ? "stalls" : "losses"].push_back(loss_json(loss));
  CategoryTimes sum{};
  for (const RankModel &rank : world.ranks)
    for (size_t i = 0; i < kCategoryCount; ++i) sum[i] += rank.categories[i] / static_cast<double>(world.ranks.size());
  json["categories"] = category_json(sum);
  json["tasks"] = Json::array();
  for (const TaskEnd &task : world.tasks)
    json["tasks"].push_back({{"task", task.task}, {"host", printable(task.host)}, {"pid", task.pid},
                             {"wait_status", task.wait_status}, {"text", wait_status_text(task.wait_status)}});
  uint64_t samples = 0;
  std::vector<FunctionSamples> functions = sampled_functions(world, &samples);
  json["samples"] = {{"total", samples}, {"functions", Json::array()}};
  for (const FunctionSamples &f : functions)
    json["samples"]["functions"].push_back({{"function", printable(f.function)}, {"object", printable(f.module)}, {"self", f.self},
                                            {"inclusive", f.inclusive}});
  std::vector<std::string> complaints;
  json["call_sites"] = sites_json(world, &complaints);
  json["unnamed_objects"] = Json::array();
  for (const std::string &complaint : complaints) json["unnamed_objects"].push_back(printable(complaint));
  json["nodes"] = Json::array();
  for (const Stream *stream : world.streams) json["nodes"].push_back(node_json(*stream));
  add_clocks_json(world, &json);
  json["notes"] = Json::array();
  for (const NoteModel &note : world.notes)
    json["notes"].push_back({{"rank", note.rank ? Json(*note.rank) : Json(nullptr)}, {"host", printable(note.host)},
                             {"text", printable(note.text)}});
  json["other_steps"] = Json::array();
  for (size_t i = 0; i < run.worlds.size(); ++i)
    if (i != run.selected)
      json["other_steps"].push_back({{"step", printable(run.worlds[i].label)}, {"ranks", run.worlds[i].ranks.size()},
                                     {"mpi", run.worlds[i].is_mpi}, {"wall_s", number(run.worlds[i].wall_s)}});
  return json;
}

}  // namespace slurmscope
