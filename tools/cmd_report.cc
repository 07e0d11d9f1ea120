// `slurmscope report`: one run for people or as JSON.
#include <memory>

#include "tools/commands.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"
#include "tools/report/report.h"

namespace slurmscope {

CommandBody prepare_report(CLI::App *app) {
  struct Options {
    std::vector<std::string> runs;
    std::string step, csv;
    JsonOption json;
    bool full = false, force = false;
  };
  auto options = std::make_shared<Options>();
  app->add_option("RUN", options->runs,
                  "run folder, Slurm job id, or the files of one run (default: the newest run folder here)");
  options->json.add(app);
  app->add_option("--csv", options->csv, "write every table as a CSV file into this directory");
  app->add_option("--step", options->step, "the step to show, as listed under OTHER STEPS");
  app->add_flag("--full", options->full, "all rows of all tables");
  app->add_flag("--force-output", options->force, "replace files that exist");
  return [options] {
    options->json.settle(&options->runs);
    RunModel run = load_run(options->runs, options->step, true);
    if (!options->csv.empty()) {
      Page page = make_report(run, {true});
      std::filesystem::create_directories(options->csv);
      for (const Table &table : page.tables)
        write_output(options->csv + "/" + table.id + ".csv", table_csv(table), options->force);
    }
    if (!options->json.target.empty()) write_output(options->json.target, json_text(report_json(run)), options->force);
    else if (options->csv.empty()) print(page_text(make_report(run, {options->full})));
    return kExitOk;
  };
}

}  // namespace slurmscope
