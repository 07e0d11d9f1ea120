// See event_text.h.
#include "tools/export/event_text.h"

#include <fmt/format.h>

#include "tools/export/exporters.h"

namespace slurmscope {
namespace {

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
  if (flags & kRowDirect) text += "D";
  return text;
}

std::string polls_text(const Stream &stream, const TraceEvent &row) {
  if (row.kind != RowKind::kPolls) return "";
  double inside = static_cast<double>(row.offset);
  return stream.clock.usable() ? fmt::format(" {} calls, {:.3f} us inside", row.request, 1e6 * stream.clock.seconds(inside))
                               : fmt::format(" {} calls", row.request);
}

}  // namespace

std::string events_text(const Stream &stream, uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows, bool csv) {
  auto found = stream.processes.find(process);
  std::string who = found != stream.processes.end() && found->second.info.has_world_rank()
                        ? fmt::format("{}", found->second.info.world_rank()) : "";
  bool timed = stream.clock.usable();
  std::string text;
  for (const TraceEvent &row : rows) {
    int64_t start = timed ? stream.clock.realtime_ns(row.start) : static_cast<int64_t>(row.start);
    double micros = timed ? 1e6 * stream.clock.seconds(static_cast<double>(row.end - row.start))
                          : static_cast<double>(row.end - row.start);
    std::string name = printable(stream.call_name(row.call));
    if (csv)
      text += fmt::format("{},{},{},{},{},{:.3f},{},{},{},{},{},{},{},{},{},{}\n", printable(stream.host()), who, process, thread,
                          start, micros, name, kind_text(row.kind), flags_text(row.flags), row.bytes, peer_text(row.peer),
                          row.tag, row.object, row.site, row.request, row.offset < 0 ? "" : fmt::format("{}", row.offset));
    else
      text += fmt::format("{}.{:09d} rank {:>4} thread {} {:>12.3f} us {:<24}{:>12} B peer {:>5} tag {} object {} {}{}\n",
                          start / 1000000000, start % 1000000000, who.empty() ? "-" : who, thread, micros, name, row.bytes,
                          peer_text(row.peer).empty() ? "-" : peer_text(row.peer), row.tag, row.object, kind_text(row.kind),
                          (row.flags ? " " : "") + flags_text(row.flags) + polls_text(stream, row));
  }
  return text;
}

}  // namespace slurmscope
