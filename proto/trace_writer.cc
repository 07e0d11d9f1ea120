// Packets into frames. See trace_writer.h.
#include "proto/trace_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/event_columns.h"
#include "proto/zstd_frames.h"

namespace slurmscope {
namespace {
// A frame is closed once it holds this much; one packet more may go beyond.
constexpr size_t kFrameContent = 1024 * 1024;
// A Summary is additive: a larger one is written as several packets (readers refuse huge packets).
constexpr size_t kSummaryPacketBytes = 1024 * 1024;
}  // namespace

struct TraceWriter::State {
  Sink *sink;
  uint64_t offset;
  FrameCompressor compressor;
  EventColumnsEncoder encoder;
  std::string content;  // of the open frame
  v1::Index::Frame frame;
  v1::Index index;
  bool has_process = false;  // the open frame holds events

  State(Sink *to, uint64_t at) : sink(to), offset(at) {}

  void put(const v1::Packet &packet) {
    // Exactly what a Trace with this one packet serializes to.
    size_t size = packet.ByteSizeLong();
    content.push_back(static_cast<char>(v1::Trace::kPacketFieldNumber << 3 | 2));
    size_t rest = size;
    for (; rest >= 0x80; rest >>= 7) content.push_back(static_cast<char>(rest | 0x80));
    content.push_back(static_cast<char>(rest));
    packet.AppendToString(&content);
  }
  void note_events(uint32_t process, std::span<const TraceEvent> rows) {
    frame.set_process(!has_process || frame.process() == process ? process : 0);
    uint64_t first = rows[0].start, last = rows[0].end;
    for (const TraceEvent &row : rows) {
      first = std::min(first, row.start);
      last = std::max(last, row.end);
    }
    frame.set_first_ticks(has_process ? std::min(frame.first_ticks(), first) : first);
    frame.set_last_ticks(std::max(frame.last_ticks(), last));
    frame.set_events(frame.events() + rows.size());
    has_process = true;
  }
  void close_frame() {
    if (content.empty()) return;
    std::string_view bytes = compressor.compress(content);
    // The frame leaves the writer before it goes to the sink: if the sink throws, it is lost, and what
    // comes next does not carry it along without bound.
    content.clear();
    v1::Index::Frame closed = std::exchange(frame, {});
    has_process = false;
    closed.set_offset(offset);
    sink->append(bytes.data(), bytes.size());
    offset += bytes.size();
    *index.add_frames() = std::move(closed);
  }
};

TraceWriter::TraceWriter(Sink *sink, uint64_t offset) : state_(std::make_unique<State>(sink, offset)) {}
TraceWriter::~TraceWriter() = default;

void TraceWriter::write(const v1::Packet &packet) {
  if (packet.has_summary() && packet.ByteSizeLong() > kSummaryPacketBytes) {
    const v1::Summary &whole = packet.summary();
    v1::Packet part;
    auto emit = [&] {
      part.mutable_summary()->set_process(whole.process());
      state_->put(part);
      if (state_->content.size() >= kFrameContent) flush();
      part.Clear();
    };
    size_t bytes = 0;
    for (const v1::CallStats &call : whole.calls()) {
      *part.mutable_summary()->add_calls() = call;
      bytes += call.ByteSizeLong();
      if (bytes < kSummaryPacketBytes) continue;
      emit();
      bytes = 0;
    }
    *part.mutable_summary()->mutable_peers() = whole.peers();
    *part.mutable_summary()->mutable_files() = whole.files();
    part.mutable_summary()->set_first_ticks(whole.first_ticks());
    part.mutable_summary()->set_last_ticks(whole.last_ticks());
    emit();
    return;
  }
  state_->put(packet);
  if (state_->content.size() >= kFrameContent) flush();
}

void TraceWriter::write_events(uint32_t process, uint32_t thread, std::span<const TraceEvent> rows) {
  while (!rows.empty()) {
    auto part = rows.first(std::min(rows.size(), kRowsPerPacket));
    state_->encoder.append(process, thread, part, &state_->content);
    state_->note_events(process, part);
    rows = rows.subspan(part.size());
    if (state_->content.size() >= kFrameContent) flush();
  }
}

void TraceWriter::flush() { state_->close_frame(); }

void TraceWriter::finish() {
  flush();
  v1::Packet packet;
  *packet.mutable_index() = state_->index;
  state_->put(packet);
  flush();
}

uint64_t TraceWriter::size() const { return state_->offset; }

}  // namespace slurmscope
