// `slurmscope dump`: packets as JSON lines, or the events of a trace as text or CSV.
//
// Two passes over a file: events may come before the clock anchors that give them a time.
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <memory>

#include "tools/commands.h"
#include "tools/export/event_text.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"

namespace slurmscope {
namespace {

void report_damage(const std::string &path, const TraceDamage &damage, bool *damaged) {
  if (!damage.damaged) return;
  *damaged = true;
  std::fflush(stdout);
  fmt::print(stderr, "slurmscope: {}: {} at byte {} after {} whole frames; everything before it is above\n", printable(path),
             damage.reason, damage.offset, damage.frames);
}

TraceDamage dump_packets(const std::string &path) {
  google::protobuf::util::JsonPrintOptions format;
  format.preserve_proto_field_names = true;
  TraceVisitor visitor;
  visitor.packet = [&](const v1::Packet &packet) {
    std::string line;
    auto status = google::protobuf::util::MessageToJsonString(packet, &line, format);
    if (!status.ok()) throw Error(fmt::format("{}: a packet cannot be shown: {}", path, status.ToString()));
    print(line + "\n");
  };
  return read_trace(path, visitor);
}

TraceDamage dump_events(const std::string &path, bool csv) {
  StreamSet set;
  set.add_file(path);
  set.finish();
  const Stream *current = nullptr;
  TraceVisitor visitor;
  visitor.packet = [&](const v1::Packet &packet) {
    if (!packet.has_header()) return;
    current = nullptr;
    for (const auto &stream : set.streams)
      if (stream->header.stream_id() == packet.header().stream_id()) current = stream.get();
  };
  visitor.events = [&](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) {
    if (current) print(events_text(*current, process, thread, rows, csv));
  };
  return read_trace(path, visitor);
}

}  // namespace

CommandBody prepare_dump(CLI::App *app) {
  struct Options {
    std::vector<std::string> runs;
    bool packets = false, events = false, csv = false;
  };
  auto options = std::make_shared<Options>();
  app->add_option("RUN", options->runs, "run folders, files or Slurm job ids")->required();
  CLI::Option *packets = app->add_flag("--packets", options->packets, "every packet except events, as JSON lines (default)");
  CLI::Option *events = app->add_flag("--events", options->events, "every event (trace mode), as text");
  CLI::Option *csv = app->add_flag("--csv", options->csv, "every event as CSV");
  packets->excludes(events)->excludes(csv);
  events->excludes(csv);
  return [options] {
    bool damaged = false;
    if (options->csv)
      print(kEventsCsvHead);
    for (const std::string &run : find_runs(options->runs))
      for (const std::string &file : trace_files(run))
        report_damage(file, options->events || options->csv ? dump_events(file, options->csv) : dump_packets(file), &damaged);
    return damaged ? kExitFailed : kExitOk;
  };
}

}  // namespace slurmscope
