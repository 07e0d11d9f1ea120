// `slurmscope compare`: selects two groups of runs and compares them.
// Exit code: 0 equivalent or faster, 1 slower, 2 usage or input error, 3 refused, 4 inconclusive.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "tools/commands.h"
#include "tools/compare/comparison.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"

namespace slurmscope {
namespace {

struct Options {
  std::string base, cand, step, margin = "3%", match = "ranks";
  double alpha = 0.05;
  std::vector<std::string> runs, forced;
  JsonOption json;
  bool force_output = false;
};

/// "3%", "0.03" or "3" (per cent).
double parse_margin(const std::string &text) {
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception &) {
    used = 0;
  }
  bool is_percent = used > 0 && text.substr(used) == "%";
  if (used == 0 || (used != text.size() && !is_percent)) throw UsageError(fmt::format("--margin {}: not a percentage", text));
  if (is_percent || value >= 1) value /= 100;
  if (!(value > 0 && value < 1)) throw UsageError(fmt::format("--margin {}: must lie between 0% and 100%", text));
  return value;
}

std::set<std::string> parse_forced(const std::vector<std::string> &codes) {
  static const std::set<std::string> kKnown{"NRUNS", "RANKS", "NODES", "BIN", "DSO", "INPUT", "WORK", "EXIT", "TOOL"};
  std::set<std::string> result;
  for (const std::string &code : codes) {
    std::string name = code.rfind("E-", 0) == 0 ? code.substr(2) : code;
    if (!kKnown.count(name))
      throw UsageError(fmt::format("--force {}: not one of NRUNS, RANKS, NODES, BIN, DSO, INPUT, WORK, EXIT, TOOL", code));
    result.insert(name);
  }
  return result;
}

std::vector<RunFacts> load_facts(const std::vector<std::string> &names, const std::string &step) {
  std::vector<RunFacts> result;
  for (const std::string &path : find_runs(names)) result.push_back(extract_facts(load_run({path}, step)));
  return result;
}

/// A side is the runs of a folder, or those of RUN... that an expression selects.
RunGroup select(const std::string &what, const std::vector<RunFacts> &pool, const Options &options, std::set<std::string> *used) {
  RunGroup group;
  group.key = what;
  std::error_code error;
  if (std::filesystem::exists(what, error)) {
    group.runs = load_facts({what}, options.step);
    for (const RunFacts &run : group.runs) used->insert(run.path);
    return group;
  }
  std::optional<Expression> expression;
  try {
    expression.emplace(what);
  } catch (const Error &problem) {
    throw UsageError(problem.what());
  }
  for (const RunFacts &run : pool)
    if (expression->matches(run.keys)) {
      group.runs.push_back(run);
      used->insert(run.path);
    }
  return group;
}

int compare(Options *options) {
  options->json.settle(&options->runs);
  CompareOptions settings;
  settings.margin = parse_margin(options->margin);
  settings.alpha = options->alpha;
  if (!(settings.alpha > 0 && settings.alpha < 0.5)) throw UsageError("--alpha must lie between 0 and 0.5");
  settings.match_nodes = options->match == "nodes";
  settings.forced = parse_forced(options->forced);

  std::vector<RunFacts> pool = load_facts(options->runs, options->step);
  std::set<std::string> used_base, used_cand;
  RunGroup base = select(options->base, pool, *options, &used_base);
  RunGroup cand = select(options->cand, pool, *options, &used_cand);
  for (const std::string &path : used_base)
    if (used_cand.count(path)) throw UsageError(fmt::format("{} is in both groups; the expressions must not overlap", path));
  if (pool.empty() && base.runs.empty() && cand.runs.empty()) throw UsageError("compare: name the runs to choose from");

  Comparison comparison = compare_groups(std::move(base), std::move(cand), settings);
  for (const RunFacts &run : pool)
    if (!used_base.count(run.path) && !used_cand.count(run.path))
      comparison.notes.push_back(fmt::format("{} is in neither group", run.path));
  if (comparison.refused)
    for (const Gate &gate : comparison.gates)
      if (gate.severity == Severity::kRefuse && !gate.forced) fmt::print(stderr, "slurmscope: {}: {}\n", gate.code, gate.text);
  if (!options->json.target.empty()) write_output(options->json.target, json_text(compare_json(comparison)), options->force_output);
  else if (!comparison.refused) print(page_text(compare_page(comparison)));
  return exit_code(comparison);
}

}  // namespace

CommandBody prepare_compare(CLI::App *app) {
  auto options = std::make_shared<Options>();
  app->add_option("--base,--baseline", options->base, "the baseline: an expression over RUNS, or a folder of runs")->required();
  app->add_option("--cand,--contender", options->cand, "the contender: an expression over RUNS, or a folder of runs")->required();
  app->add_option("--margin", options->margin, "difference that does not matter")->capture_default_str();
  app->add_option("--alpha", options->alpha, "1 - confidence of the intervals")->capture_default_str();
  app->add_option("--match", options->match, "ranks: equal ranks on both sides; nodes: node for node, lost cores shown apart")
      ->check(CLI::IsMember({"ranks", "nodes"}))->capture_default_str();
  app->add_option("--force", options->forced, "compare in spite of this refusal (BIN, DSO, INPUT, WORK, ...)")
      ->delimiter(',')->allow_extra_args(false);
  app->add_option("--step", options->step, "the step of each run to compare (default: the largest MPI world)");
  options->json.add(app);
  app->add_flag("--force-output", options->force_output, "replace an existing JSON file");
  app->add_option("RUNS", options->runs, "run folders, folders of run folders, or Slurm job ids");
  app->footer("An expression is KEY:VALUE terms: all must hold, OR separates alternatives, -KEY:VALUE negates, /RE/ is a pattern.\n"
              "Keys: app exe input nodes ranks ppn threads partition virt hypervisor image date host job tag.NAME\n"
              "Exit: 0 equivalent or faster, 1 slower, 2 error, 3 refused, 4 inconclusive");
  return [options] { return compare(options.get()); };
}

}  // namespace slurmscope
