// `compare --json`. Keys are a promise; lists that an analysis does not fill yet are there and empty.
#include <cmath>

#include "config.h"
#include "tools/compare/comparison.h"
#include "tools/export/exporters.h"

namespace slurmscope {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json optional_number(const std::optional<double> &value) { return value ? number(*value) : Json(nullptr); }

Json group_json(const char *role, const RunGroup &group) {
  Json runs = Json::array();
  for (const RunFacts &run : group.runs)
    runs.push_back({{"id", printable(run.id)}, {"path", printable(run.path)}, {"wall_s", number(run.wall_s)}, {"t0", run.start_ns},
                    {"nodes", run.hosts}, {"ranks", run.ranks}, {"partition", printable(run.partition)}, {"virt", printable(run.vm)}});
  return {{"key", printable(group.key)}, {"role", role}, {"runs", runs}};
}

Json delta_json(const CategoryDelta &d) {
  return {{"cat", d.key}, {"base_s", number(d.base_s)}, {"cand_s", number(d.cand_s)}, {"delta_s", number(d.delta_s)},
          {"stat_hw", optional_number(d.half_width)}, {"sys_hw", nullptr}, {"share", optional_number(d.share)},
          {"holm", d.significant}, {"p", optional_number(d.p)}, {"part", d.is_part}};
}

const char *verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kEquivalent: return "EQUIVALENT";
    case VerdictKind::kSlower: return "SLOWER";
    case VerdictKind::kFaster: return "FASTER";
    case VerdictKind::kInconclusive: break;
  }
  return "INCONCLUSIVE";
}

}  // namespace

nlohmann::ordered_json compare_json(const Comparison &c) {
  Json json;
  json["schema"] = 1;
  json["tool"] = "slurmscope " PACKAGE_VERSION;
  json["inputs"] = Json::array();
  for (const RunGroup *group : {&c.base, &c.cand})
    for (const RunFacts &run : group->runs) json["inputs"].push_back(printable(run.path));
  json["groups"] = {group_json("base", c.base), group_json("cand", c.cand)};
  json["gates"] = Json::array();
  for (const Gate &gate : c.gates)
    json["gates"].push_back({{"code", gate.code},
                             {"severity", gate.severity == Severity::kRefuse ? "refuse" : gate.severity == Severity::kDegrade ? "degrade" : "warn"},
                             {"forced", gate.forced}, {"text", gate.text}});
  json["refused"] = c.refused;
  json["headline"] = nullptr;
  if (!c.refused)
    json["headline"] = {{"estimator", "hodges-lehmann"},
                        {"shift_log", number(c.shift.estimate)},
                        {"pct", number(percent_of_log(c.shift.estimate))},
                        {"ci", {number(percent_of_log(c.shift.low)), number(percent_of_log(c.shift.high))}},
                        {"attained", number(c.shift.attained)},
                        {"p", number(c.shift.p)},
                        {"minimum_p", number(c.shift.minimum_p)},
                        {"cliff", number(c.shift.cliff)},
                        {"verdict", verdict_name(c.verdict.kind)},
                        {"settled", c.verdict.settled},
                        {"provisional", c.verdict.provisional},
                        {"text", c.verdict.text},
                        {"margin", c.options.margin},
                        {"alpha", c.options.alpha},
                        {"runs_needed", c.verdict.runs_needed ? Json(*c.verdict.runs_needed) : Json(nullptr)}};
  json["rank_view"] = Json::array();
  for (const CategoryDelta &delta : c.rank_view) json["rank_view"].push_back(delta_json(delta));
  json["total"] = c.refused ? Json(nullptr) : delta_json(c.total);
  for (const char *key : {"cp_view", "because", "p2p", "coll", "io", "md", "scaling", "concurrency", "findings"}) json[key] = Json::array();
  json["pop"] = Json::object();
  json["noise"] = {{"observable", nullptr}, {"steal_s", nullptr}, {"runq_s", nullptr}, {"throttled_s", nullptr}, {"H", nullptr}};
  json["config_diff"] = Json::array();
  for (const ConfigDifference &d : c.config)
    json["config_diff"].push_back({{"key", printable(d.key)}, {"base", printable(d.base)}, {"cand", printable(d.cand)}});
  json["notes"] = c.notes;
  return json;
}

}  // namespace slurmscope
