// See trace_maker.h.
#include "tests/unit/trace_maker.h"

#include "proto/summary.h"
#include "proto/trace_writer.h"
#include "proto/version.h"

namespace slurmscope::test {

uint64_t Random::next() {  // splitmix64
  uint64_t value = (state_ += 0x9e3779b97f4a7c15u);
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

v1::CallTable sample_call_table() {
  static constexpr std::pair<const char *, v1::CallClass> kCalls[] = {
      {"", v1::CLASS_UNKNOWN}, {"MPI_Send", v1::CLASS_SEND}, {"MPI_Recv", v1::CLASS_RECEIVE},
      {"MPI_Sendrecv", v1::CLASS_SEND_RECEIVE}, {"MPI_Isend", v1::CLASS_START_SEND},
      {"MPI_Irecv", v1::CLASS_START_RECEIVE}, {"MPI_Wait", v1::CLASS_WAIT}, {"MPI_Allreduce", v1::CLASS_COLLECTIVE},
      {"open", v1::CLASS_OPEN}, {"close", v1::CLASS_CLOSE}, {"read", v1::CLASS_READ}, {"write", v1::CLASS_WRITE},
      {"lseek", v1::CLASS_SEEK}, {"stat", v1::CLASS_METADATA}};
  v1::CallTable table;
  for (auto [name, call_class] : kCalls) {
    v1::Call *call = table.add_calls();
    call->set_name(name);
    call->set_class_(call_class);
  }
  return table;
}

std::vector<v1::CallClass> classes_of(const v1::CallTable &table) {
  std::vector<v1::CallClass> classes;
  for (const v1::Call &call : table.calls()) classes.push_back(call.class_());
  return classes;
}

std::vector<TraceEvent> sample_rows(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<TraceEvent> rows;
  uint64_t now = 1000000;
  while (rows.size() < count) {
    TraceEvent row;
    row.start = now += 200 + random.below(5000);
    row.end = now += 300 + random.below(20000);
    row.call = 1 + static_cast<uint32_t>(random.below(kStat));
    row.site = static_cast<uint32_t>(random.below(5));
    if (random.below(50) == 0) row.flags |= kRowFailed;
    if (row.call <= kAllreduce) {
      row.object = 1 + static_cast<uint32_t>(random.below(3));
      row.bytes = random.below(4) == 0 ? 0 : uint64_t{1} << random.below(20);
      if (row.call <= kIrecv) {
        row.peer = random.below(20) == 0 ? kPeerProcNull : static_cast<int32_t>(random.below(4));
        row.tag = static_cast<int32_t>(random.below(100));
        row.flags |= static_cast<uint16_t>((1 + random.below(3)) << kRowLocalityShift);
        if (row.call != kIrecv) row.flags |= kRowMessage;
        if (row.call == kIsend || row.call == kIrecv) row.request = 1 + random.below(1000);
      }
    } else {
      row.object = 1 + static_cast<uint32_t>(random.below(3));
      row.peer = 3;
      if (row.call == kRead || row.call == kWrite) {
        row.bytes = random.below(70000);
        if (random.below(2) == 0) row.offset = static_cast<int64_t>(4096 * random.below(10));
      } else if (row.call == kSeek) {
        row.offset = static_cast<int64_t>(random.below(100000));
      }
    }
    rows.push_back(row);
    if (row.call == kWait || row.call == kSendrecv) {
      TraceEvent part = row;
      part.kind = row.call == kWait ? RowKind::kCompletion : RowKind::kReceivePart;
      part.call = row.call == kWait ? (random.below(2) ? kIrecv : kIsend) : row.call;
      part.flags = static_cast<uint16_t>(kRowMessage | (random.below(10) == 0 ? kRowCancelled : 0));
      part.peer = static_cast<int32_t>(random.below(4));
      part.bytes = random.below(5000);
      rows.push_back(part);
    }
    if (row.call == kWait && random.below(4) == 0) {
      TraceEvent polls = row;
      polls.kind = RowKind::kPolls;
      polls.flags = 0;
      polls.request = 1 + random.below(1000);
      polls.offset = static_cast<int64_t>(random.below(polls.end - polls.start));
      rows.push_back(polls);
    }
  }
  return rows;
}

std::vector<TraceEvent> wild_rows(uint64_t seed, size_t count) {
  Random random(seed);
  auto any = [&random]() -> uint64_t {
    uint64_t value = random.next();
    switch (random.below(6)) {
      case 0: return 0;
      case 1: return UINT64_MAX;
      case 2: return uint64_t{1} << 63;
      case 3: return INT64_MAX;
      case 4: return value >> random.below(64);
      default: return value;
    }
  };
  auto any32 = [&]() -> uint32_t {
    static constexpr uint32_t kEdges[] = {0, 1, UINT32_MAX, 0x80000000u, 0x7fffffffu, 0x80000001u};
    return random.below(2) ? kEdges[random.below(6)] : static_cast<uint32_t>(any());
  };
  std::vector<TraceEvent> rows(count);
  for (TraceEvent &row : rows) {
    row.start = any();
    row.end = any();
    row.call = any32();
    row.kind = static_cast<RowKind>(random.below(4));
    row.flags = static_cast<uint16_t>(any());
    row.site = any32();
    row.bytes = any();
    row.peer = static_cast<int32_t>(any32());
    row.tag = static_cast<int32_t>(any32());
    row.object = any32();
    row.request = any();
    row.offset = static_cast<int64_t>(any());
  }
  return rows;
}

v1::Packet header_packet() {
  v1::Packet packet;
  packet.mutable_header()->set_format_major(kFormatMajor);
  packet.mutable_header()->set_format_minor(kFormatMinor);
  packet.mutable_header()->set_tool_version("test");
  packet.mutable_header()->set_stream_id(42);
  packet.mutable_header()->set_mode(v1::Header::MODE_TRACE);
  return packet;
}

std::string sample_trace(uint64_t seed, size_t rows_per_thread, size_t frames) {
  MemorySink sink;
  TraceWriter writer(&sink);
  writer.write(header_packet());
  v1::Packet packet;
  *packet.mutable_call_table() = sample_call_table();
  std::vector<v1::CallClass> classes = classes_of(packet.call_table());
  writer.write(packet);
  packet.mutable_process()->set_id(1);
  packet.mutable_process()->set_exe("/bin/true");
  writer.write(packet);
  Summary summary(&classes);
  std::vector<TraceEvent> rows[2] = {sample_rows(seed, rows_per_thread), sample_rows(seed + 1, rows_per_thread)};
  for (size_t i = 0; i < frames; i++) {
    for (uint32_t thread = 0; thread < 2; thread++) {
      std::span<const TraceEvent> all = rows[thread];
      size_t from = all.size() * i / frames, to = all.size() * (i + 1) / frames;
      for (const TraceEvent &row : all.subspan(from, to - from)) summary.add(row);
      writer.write_events(1, thread + 1, all.subspan(from, to - from));
    }
    *packet.mutable_summary() = summary.to_packet(1);
    writer.write(packet);
    summary.clear_counts();
    writer.flush();
  }
  packet.mutable_stream_end()->set_clean(true);
  writer.write(packet);
  writer.finish();
  return sink.bytes;
}

ReadBack read_back(std::string_view bytes) {
  ReadBack result;
  TraceVisitor visitor;
  visitor.packet = [&](const v1::Packet &packet) { result.packets.push_back(packet); };
  visitor.events = [&](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) {
    auto &all = result.rows[{process, thread}];
    all.insert(all.end(), rows.begin(), rows.end());
  };
  result.damage = read_trace_bytes("test.sst", bytes, visitor);
  return result;
}

}  // namespace slurmscope::test
