// What `slurmscope salvage` says of a trace: per process what is in it, and what was lost, by kind.
//
// Called by cmd_salvage. The numbers are those of the report; a loss without a count is time only.
#include <algorithm>

#include "tools/report/report.h"

namespace slurmscope {
namespace {

/// A name, not a number: without separators.
std::string pid_text(const Stream &stream, uint32_t process) {
  auto found = stream.processes.find(process);
  return found == stream.processes.end() ? "" : std::to_string(found->second.info.pid());
}

}  // namespace

bool has_lost(const RunModel &run) {
  // A stall is time in which a process waited: nothing was lost by it.
  for (const auto &stream : run.set.streams)
    for (const auto &[key, loss] : stream->losses)
      if (loss.count() != 0 && loss.reason() != "stall") return true;
  return std::any_of(run.set.files.begin(), run.set.files.end(), [](const LoadedFile &file) { return file.damage.damaged; });
}

Table salvaged_process_table(const RunModel &run) {
  Table table{"processes", "SAVED",
              {{"process", "", ColumnKind::kText}, {"rank", "", ColumnKind::kCount}, {"program", "", ColumnKind::kPath},
               {"calls", "", ColumnKind::kCount}, {"bytes", "bytes", ColumnKind::kBytes}, {"ended", "", ColumnKind::kText}}, {}, {}};
  for (const World &world : run.worlds)
    for (const std::vector<RankModel> *ranks : {&world.ranks, &world.others})
      for (const RankModel &rank : *ranks) {
        uint64_t count = 0, bytes = 0;
        for (const CallTotals &call : rank.calls) {
          count += call.count;
          bytes += call.bytes;
        }
        std::string end = rank.record->info.has_end_ticks() ? end_text(rank) : "still running";
        table.rows.push_back({pid_text(*rank.stream, rank.process_id),
                              rank.is_mpi ? Cell{static_cast<int64_t>(rank.rank)} : Cell{}, rank.record->info.exe(), count, bytes,
                              end.empty() ? "ended, nobody said how" : end});
      }
  if (table.rows.empty()) table.notes.push_back("no process");
  return table;
}

Table salvaged_loss_table(const RunModel &run) {
  Table table{"lost", "LOST",
              {{"process", "", ColumnKind::kText}, {"what", "", ColumnKind::kText}, {"count", "", ColumnKind::kCount},
               {"time", "s", ColumnKind::kSeconds}}, {}, {}};
  for (const auto &stream : run.set.streams)
    for (const auto &[key, loss] : stream->losses) {
      double seconds = stream->clock.seconds(static_cast<double>(loss.ticks()));
      table.rows.push_back({loss.process() == 0 ? stream->host() : pid_text(*stream, loss.process()), loss.reason(),
                            loss.count() == 0 ? Cell{} : Cell{loss.count()}, seconds == 0 ? Cell{} : Cell{seconds}});
      if (!loss.detail().empty()) table.notes.push_back(loss.reason() + ": " + loss.detail());
    }
  if (table.rows.empty()) table.notes.push_back("nothing");
  for (const LoadedFile &file : run.set.files)
    if (file.damage.damaged) table.notes.push_back("the file is damaged: " + file.damage.reason);
  return table;
}

}  // namespace slurmscope
