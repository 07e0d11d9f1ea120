// The report of one run: tables for people and the stable JSON.
//
// Called by cmd_report. Reads the model, computes nothing that another view would need too; that belongs
// into tools/model. Single-threaded.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/model/run.h"
#include "tools/table.h"

namespace slurmscope {

struct ReportOptions {
  bool full = false;   // all rows of all tables
};

/// The page that `slurmscope report` prints.
Page make_report(const RunModel &run, const ReportOptions &options);

/// `report --json`: see slurmscope-report(1). Keys are only ever added.
nlohmann::ordered_json report_json(const RunModel &run);

// The tables, one function each; a table without rows is left out of the page.
Table category_table(const World &world);
Table rank_table(const World &world, const ReportOptions &options);
Table call_table(const World &world, const ReportOptions &options);
Table matrix_table(const World &world, const ReportOptions &options);
Table file_table(const World &world, const ReportOptions &options);
/// Files and peers that several ranks or processes used.
Table shared_file_table(const World &world, const ReportOptions &options);
Table counter_table(const World &world, const ReportOptions &options);
Table site_table(const World &world, const ReportOptions &options);
Table function_table(const World &world, const ReportOptions &options);
Table end_table(const World &world, const ReportOptions &options);
Table loss_table(const World &world);
Table other_worlds_table(const RunModel &run);
Table clock_table(const World &world);
/// What `slurmscope salvage` shows: every process of the run, and every loss.
Table salvaged_process_table(const RunModel &run);
Table salvaged_loss_table(const RunModel &run);
/// Whether anything is missing in the trace.
bool has_lost(const RunModel &run);
Table gap_table(const World &world, const ReportOptions &options);

nlohmann::ordered_json files_json(const World &world);
nlohmann::ordered_json shared_files_json(const World &world);

/// Keys clocks, clock_pairs, time_namespaces and messages of the JSON.
void add_clocks_json(const World &world, nlohmann::ordered_json *json);
nlohmann::ordered_json gaps_json(const World &world, const RankModel &rank);
/// "120 matched, 3 sends without a receive"; "" without events.
std::string messages_text(const World &world);
/// How well the nodes' times compare; "" on one node.
std::string clock_error_text(const World &world);

/// Functions in which stack samples were taken, most samples first.
struct FunctionSamples {
  std::string function, module;
  uint64_t self = 0;       // innermost
  uint64_t inclusive = 0;  // anywhere on the stack
};
std::vector<FunctionSamples> sampled_functions(const World &world, uint64_t *total);

/// The `call_sites` of the JSON; `complaints` says why places have no names.
nlohmann::ordered_json sites_json(const World &world, std::vector<std::string> *complaints);

/// The run's clock in UTC, e.g. "2026-11-30 17:20:11 UTC"; "" if it is not known.
std::string utc_text(int64_t realtime_ns);

}  // namespace slurmscope
