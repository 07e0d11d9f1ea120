// `slurmscope salvage`: by hand what a drainer does at the end of a step, when the drainer is dead and nobody took its
// place. A page per spool on stdout; what could not be done on stderr.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/commands.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"
#include "tools/record/drainer_program.h"
#include "tools/record/salvage.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace fs = std::filesystem;
namespace {

struct SalvageOptions {
  std::vector<std::string> names;
  std::string output;
  bool removes = false;
  unsigned timeout = 60;
};

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string kept_text(const SalvagedSpool &salvaged, bool removes) {
  if (salvaged.is_removed) return "removed";
  if (!salvaged.loss.empty()) return "kept: the trace has no end";
  if (!salvaged.running.empty()) return "kept: processes still run";
  return removes ? "kept" : "kept (--remove removes it)";
}

/// As the spool's owner. Returns an exit code.
int salvage(const std::string &library_directory, const std::string &spool, const SalvageOptions &options) {
  SalvagedSpool salvaged = run_salvage(library_directory, spool, options.output, options.removes, options.timeout);
  Page page{"slurmscope salvage " + spool, {}, {}, {}};
  bool has_trace = !salvaged.trace.empty() && fs::exists(salvaged.trace);
  page.head.push_back({"trace", salvaged.trace.empty() ? "none: nothing had been recorded" : salvaged.trace});
  page.head.push_back({"spool", kept_text(salvaged, options.removes)});
  bool whole = salvaged.loss.empty() && has_trace == !salvaged.trace.empty();
  if (has_trace) {
    RunModel run = load_run({salvaged.trace}, "");
    page.tables = {salvaged_process_table(run), salvaged_loss_table(run)};
    whole = whole && !has_lost(run);
  }
  if (salvaged.is_old) page.notes.push_back("everything had been written to that file before, nothing was added now");
  if (!salvaged.trace.empty() && !has_trace) page.notes.push_back("that file is not there any more");
  if (!salvaged.loss.empty()) page.notes.push_back(fmt::format("every call was written, but not the trace's end: {}", salvaged.loss));
  if (!salvaged.running.empty())
    page.notes.push_back(fmt::format("what process {} does from now on is in its rings only: salvage again when it has ended",
                                     joined(salvaged.running)));
  print(page_text(page));
  return whole ? kExitOk : kExitFailed;
}

int salvage_all(const SalvageOptions &options) {
  std::string library_directory = find_library_directory();
  int code = kExitOk;
  for (const std::string &name : options.names) {
    size_t others = 0, done = 0;
    for (const SpoolPlace &place : find_spools(name, &others)) {
      try {
        if (done++ != 0) print("\n");
        if (run_as_owner(place, [&] { return salvage(library_directory, place.path, options); }) != kExitOk) code = kExitFailed;
      } catch (const Error &error) {
        fmt::print(stderr, "slurmscope: {}\n", error.what());
        code = kExitFailed;
      }
    }
    if (others != 0) fmt::print(stderr, "slurmscope: {}: {} spools of other users left alone\n", name, others);
  }
  return code;
}

}  // namespace

CommandBody prepare_salvage(CLI::App *app) {
  auto options = std::make_shared<SalvageOptions>();
  app->add_option("DIR", options->names, "spool directories, or folders that hold some")->required();
  app->add_option("-o,--output", options->output, "folder for the traces (default: the run folder that the step wanted)");
  app->add_flag("--remove", options->removes, "remove a spool from which all was written");
  app->add_option("--timeout", options->timeout, "seconds after which a spool is given up for now")
      ->check(CLI::Range(1u, 86400u))->capture_default_str();
  return [options] {
    if (!options->output.empty()) options->output = fs::absolute(options->output).lexically_normal().string();
    while (options->output.size() > 1 && options->output.ends_with('/')) options->output.pop_back();
    return salvage_all(*options);
  };
}

}  // namespace slurmscope
