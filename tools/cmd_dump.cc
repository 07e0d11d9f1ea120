// `slurmscope dump`: packets as JSON lines, or the events of a trace as text or CSV.
//
// Two passes over a file: events may come before the clock anchors that give them a time.
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <memory>

#include "tools/commands.h"
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

std::string peer_text(int32_t peer) {
  switch (peer) {
    case kPeerNone: return "";
    case kPeerProcNull: return "null";
    case kPeerAnySource: return "any";
    case kPeerRoot: return "root";
    case kPeerForeign: return "foreign";
    default: return fmt::format("{}", peer);
  }
}

const char *kind_text(RowKind kind) {
  static constexpr const char *kTexts[] = {"call", "completion", "receive", "polls", "start"};
  return static_cast<size_t>(kind) < std::size(kTexts) ? kTexts[static_cast<size_t>(kind)] : "unknown";
}

std::string flags_text(uint16_t flags) {
  std::string text;
  if (flags & kRowFailed) text += "F";
  if (flags & kRowCancelled) text += "C";
  if (flags & kRowMessage) text += "M";
  return text;
}

struct RowPrinter {
  const Stream *stream;
  bool csv;
  std::string polls_text(const TraceEvent &row) const {
    if (row.kind != RowKind::kPolls) return "";
    double inside = static_cast<double>(row.offset);
    return stream->clock.usable() ? fmt::format(" {} calls, {:.3f} us inside", row.request, 1e6 * stream->clock.seconds(inside))
                                  : fmt::format(" {} calls", row.request);
  }
  void operator()(uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) const {
    auto found = stream->processes.find(process);
    std::string who = found != stream->processes.end() && found->second.info.has_world_rank()
                          ? fmt::format("{}", found->second.info.world_rank()) : "";
    bool timed = stream->clock.usable();
    std::string text;
    for (const TraceEvent &row : rows) {
      int64_t start = timed ? stream->clock.realtime_ns(row.start) : static_cast<int64_t>(row.start);
      double micros = timed ? 1e6 * stream->clock.seconds(static_cast<double>(row.end - row.start))
                            : static_cast<double>(row.end - row.start);
      std::string name = printable(stream->call_name(row.call));
      if (csv)
        text += fmt::format("{},{},{},{},{},{:.3f},{},{},{},{},{},{},{},{},{},{}\n", printable(stream->host()), who, process, thread,
                            start, micros, name, kind_text(row.kind), flags_text(row.flags), row.bytes, peer_text(row.peer),
                            row.tag, row.object, row.site, row.request, row.offset < 0 ? "" : fmt::format("{}", row.offset));
      else
        text += fmt::format("{}.{:09d} rank {:>4} thread {} {:>12.3f} us {:<24}{:>12} B peer {:>5} tag {} object {} {}{}\n",
                            start / 1000000000, start % 1000000000, who.empty() ? "-" : who, thread, micros, name, row.bytes,
                            peer_text(row.peer).empty() ? "-" : peer_text(row.peer), row.tag, row.object, kind_text(row.kind),
                            (row.flags ? " " : "") + flags_text(row.flags) + polls_text(row));
    }
    print(text);
  }
};

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
    if (current) RowPrinter{current, csv}(process, thread, rows);
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
      print("host,rank,process,thread,start_realtime_ns,duration_us,call,kind,flags,bytes,peer,tag,object,site,request,offset\n");
    for (const std::string &run : find_runs(options->runs))
      for (const std::string &file : trace_files(run))
        report_damage(file, options->events || options->csv ? dump_events(file, options->csv) : dump_packets(file), &damaged);
    return damaged ? kExitFailed : kExitOk;
  };
}

}  // namespace slurmscope
