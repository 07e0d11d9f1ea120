// Writes the first inputs of the fuzzer: `make_corpus tests/fuzz`. What goes to corpus/ is small and changed by the
// fuzzer; what goes to large/ inflates or claims to be enormous, and is only run as it is. What the fuzzer found is
// kept beside them under names of its own.
#include <zstd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "proto/event.h"
#include "proto/ring.h"
#include "proto/slurmscope.pb.h"
#include "proto/version.h"
#include "profiler/drain/journal.h"
#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/hostile_spool.h"
#include "tests/unit/ring_maker.h"
#include "tests/unit/run_maker.h"

using namespace slurmscope;
using namespace slurmscope::test;

namespace {

std::filesystem::path root;

void save_in(const std::string &folder, const std::string &target, const std::string &name, const std::string &bytes) {
  std::filesystem::create_directories(root / folder / target);
  std::ofstream(root / folder / target / name, std::ios::binary) << bytes;
}
void save(const std::string &target, const std::string &name, const std::string &bytes) { save_in("corpus", target, name, bytes); }
void save_large(const std::string &target, const std::string &name, const std::string &bytes) { save_in("large", target, name, bytes); }

std::string packed(const std::string &content, int level = 19) {
  std::string frame(ZSTD_compressBound(content.size()), 0);
  frame.resize(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), level));
  return frame;
}

std::string packets_of(const std::vector<v1::Packet> &packets) {
  v1::Trace trace;
  for (const v1::Packet &packet : packets) *trace.add_packet() = packet;
  return trace.SerializeAsString();
}

v1::Packet header() {
  v1::Packet packet;
  packet.mutable_header()->set_format_major(kFormatMajor);
  packet.mutable_header()->set_stream_id(5);
  packet.mutable_header()->set_mode(v1::Header::MODE_TRACE);
  return packet;
}

/// Two nodes of one run with everything that a file may hold.
std::string rich_trace() {
  std::string file;
  for (int node = 0; node < 2; node++) {
    RunMaker::Options options;
    options.host = node == 0 ? "n1" : "n2";
    options.stream_id = static_cast<uint64_t>(node) + 1;
    options.clock_shift_ns = node * 5'000'000;
    RunMaker maker(options);
    uint32_t id = maker.add_rank(node, 2);
    maker.life(id, 1'000'000, 90'000'000, 1000);
    for (uint64_t i = 0; i < 4; i++) {
      maker.call(id, i % 2 == static_cast<uint64_t>(node) ? kSend : kRecv, 2'000'000 + i * 1'000'000, 2'100'000 + i * 1'000'000, 100, 1 - node);
      maker.call(id, kBarrier, 2'500'000 + i * 1'000'000, 2'600'000 + i * 1'000'000).object = 1;
    }
    maker.file(id, 1, "/tmp/data");
    maker.call(id, kWrite, 20'000'000, 21'000'000, 4096).object = 1;
    v1::Packet packet;
    packet.mutable_communicator()->set_process(id);
    packet.mutable_communicator()->set_id(1);
    packet.mutable_communicator()->set_gid(9);
    packet.mutable_communicator()->set_size(2);
    v1::RankRange *range = packet.mutable_communicator()->add_members();
    range->set_count(2);
    range->set_stride(1);
    maker.add(packet);
    packet.mutable_call_path()->set_process(id);
    packet.mutable_call_path()->set_id(1);
    packet.mutable_call_path()->add_address(0x401010);
    packet.mutable_call_path()->add_address(0x401020);
    maker.add(packet);
    packet.mutable_module()->set_process(id);
    packet.mutable_module()->set_start(0x401000);
    packet.mutable_module()->set_end(0x402000);
    packet.mutable_module()->set_path("/nowhere/program");
    maker.add(packet);
    packet.mutable_counter_set()->set_process(id);
    packet.mutable_counter_set()->add_names("PAPI_TOT_INS");
    packet.mutable_counter_set()->add_errors("");
    maker.add(packet);
    packet.mutable_counter_samples()->set_process(id);
    packet.mutable_counter_samples()->set_thread(1);
    packet.mutable_counter_samples()->add_ticks(3'000'000);
    packet.mutable_counter_samples()->add_values(12345);
    packet.mutable_counter_samples()->set_is_last(true);
    maker.add(packet);
    packet.mutable_stack_samples()->set_process(id);
    packet.mutable_stack_samples()->set_thread(1);
    packet.mutable_stack_samples()->add_ticks(3'000'000);
    packet.mutable_stack_samples()->add_site(1);
    maker.add(packet);
    packet.mutable_note()->set_text("a note");
    maker.add(packet);
    maker.task(static_cast<uint32_t>(node), 100, 9);
    maker.loss(id, "ring full", 3);
    file += maker.bytes();
  }
  return file;
}

void make_traces() {
  RunMaker::Options summary;
  summary.trace = false;
  std::vector<std::pair<std::string, std::string>> files = {
      {"exchange", make_exchange({}, false).bytes()}, {"killed", make_exchange({}, true).bytes(false)},
      {"summary", make_imbalance(summary).bytes()}, {"rich", rich_trace()}};
  for (const auto &[name, bytes] : files) {
    save("trace", name + ".sst", bytes);
    save("trace", name + ".packets", trace_packets(bytes));
  }
  // Small files that inflate: one long frame, one packet with many parts, many rows in few bytes.
  std::string start = packets_of({header()});
  save_large("trace", "bomb_frame.sst", packed(start + std::string(200 << 20, 0)));
  v1::Packet parts;
  for (int i = 0; i < 3'000'000; i++) parts.mutable_call_table()->add_calls();
  save_large("trace", "bomb_parts.sst", packed(start + packets_of({parts})));
  v1::Packet rows;
  rows.mutable_events()->set_process(1);
  rows.mutable_events()->set_count(1 << 20);
  rows.mutable_events()->mutable_start_delta()->Resize(1 << 20, 0);
  rows.mutable_events()->mutable_duration()->Resize(1 << 20, 0);
  rows.mutable_events()->mutable_call()->Resize(1 << 20, 0);
  std::string many;
  for (int i = 0; i < 4; i++) many += packets_of({rows});
  save_large("trace", "bomb_rows.sst", packed(start + many));
  v1::Packet claims;
  claims.mutable_events()->set_count(UINT32_MAX);
  save("trace", "claimed_rows.packets", start + packets_of({claims}));
  // A window of 2 GiB, a content of 2^60 bytes.
  save("trace", "window.sst", std::string("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9));
  save("trace", "claimed_content.sst", std::string("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00", 16));
  v1::Packet process, communicator;
  process.mutable_process()->set_id(1);
  process.mutable_process()->set_world_rank(INT32_MAX);
  process.mutable_process()->set_world_size(INT32_MAX);
  communicator.mutable_communicator()->set_process(1);
  communicator.mutable_communicator()->set_id(1);
  communicator.mutable_communicator()->set_size(UINT32_MAX);
  v1::RankRange *range = communicator.mutable_communicator()->add_members();
  range->set_count(UINT32_MAX);
  range->set_stride(1);
  save("trace", "claimed_ranks.packets", start + packets_of({process, communicator}));
}

std::string record(const std::vector<uint8_t> &bytes) { return {bytes.begin(), bytes.end()}; }

template <typename Value> std::string patch(size_t offset, Value value) {
  std::string text{static_cast<char>(offset & 0xff), static_cast<char>(offset >> 8)};
  return text.append(reinterpret_cast<const char *>(&value), sizeof value);
}

std::string event(const char *name, uint64_t start, uint64_t request = 0, EventKind kind = EventKind::kCall) {
  Event made = call_event(name, start);
  made.flags = kEventMessage;
  made.object = 0x44000000;
  made.peer = 0;
  made.bytes = 64;
  made.request = request;
  made.kind = kind;
  return {reinterpret_cast<const char *>(&made), sizeof made};
}

std::string ring_of_rank(uint8_t index) {
  using S = SpoolStep;
  ProcessFile layout;  // only its offsets
  auto offset = [&](const void *field) { return static_cast<size_t>(static_cast<const char *>(field) - reinterpret_cast<const char *>(&layout)); };
  std::string steps = spool_step(S::kProcessPatch, index, patch(offset(&layout.world_rank), int32_t{index}));
  steps += spool_step(S::kProcessPatch, index, patch(offset(&layout.world_size), int32_t{2}));
  steps += spool_step(S::kProcessPatch, index, patch(offset(&layout.mpi_ready), uint32_t{1}));
  steps += spool_step(S::kDefinition, index, record(thread_record(1, 7, true)));
  steps += spool_step(S::kDefinition, index, record(communicator_record(1, 0x44000000, index, {0, 1})));
  return steps;
}

void make_spools() {
  using S = SpoolStep;
  std::string steps = ring_of_rank(0) + ring_of_rank(1);
  steps += spool_step(S::kDefinition, 0, record(site_record(3, {0x1000, 0x2000})));
  steps += spool_step(S::kDefinition, 0, record(file_record(1, "/tmp/a\xff" "b")));
  steps += spool_step(S::kDefinition, 0, record(note_record(5, "counter X: not there")));
  steps += spool_step(S::kDefinition, 0, record(counter_record(0, "PAPI_TOT_INS")));
  steps += spool_step(S::kSample, 0, record(counter_sample_record(9, {1, 2}, true)));
  steps += spool_step(S::kSample, 0, record(stack_sample_record(9, {0x1000, 0x2000})));
  steps += spool_step(S::kEvent, 0, event("MPI_Isend", 100, 1)) + spool_step(S::kEvent, 0, event("MPI_Wait", 200)) +
           spool_step(S::kEvent, 0, event("MPI_Wait", 200, 1, EventKind::kComplete));
  steps += spool_step(S::kEvent, 1, event("MPI_Irecv", 100, 2)) + spool_step(S::kEvent, 1, event("MPI_Send_init", 110, 3)) +
           spool_step(S::kEvent, 1, event("MPI_Start", 120, 3));
  save("spool", "live", steps);
  save("spool", "rounds", steps + spool_step(S::kRound, 0, "") + spool_step(S::kEvent, 1, event("MPI_Wait", 300)) +
       spool_step(S::kEvent, 1, event("MPI_Wait", 300, 2, EventKind::kComplete)) + spool_step(S::kRestart, 0, "") +
       spool_step(S::kDefinition, 2, record(thread_record(400, 8, false))) + spool_step(S::kEvent, 2, event("MPI_Send", 410)));

  std::string definition = std::string(8, 0) + record(communicator_record(1, 0x44000000, 0, {0, 1}));
  std::string journal = spool_step(S::kProcessPatch, 0, "") + spool_step(S::kJournalRecord, 1, std::string(8, 1)) +
                        spool_step(S::kJournalRecord, 2, "proc-1000-0") + spool_step(S::kJournalRecord, 3, "ring-1000-0-0") +
                        spool_step(S::kJournalRecord, 4, definition) + spool_step(S::kJournalRecord, 5, std::string(24, 1)) +
                        spool_step(S::kJournalBytes, 0, "cut");
  save("spool", "journal", journal);
  v1::Packet loss, note, summary;
  loss.mutable_loss()->set_process(1);
  loss.mutable_loss()->set_reason("definition");
  loss.mutable_loss()->set_count(3);
  note.mutable_note()->set_process(1);
  note.mutable_note()->set_text("12");
  summary.mutable_summary()->set_process(1);
  summary.mutable_summary()->add_calls()->set_count(5);
  summary.mutable_summary()->add_files()->set_opens(5);
  save("spool", "checkpoint", journal + spool_step(S::kCheckpointPackets, 0, packets_of({header(), loss, note, summary})) +
       spool_step(S::kCommit, 0, "file=/nowhere/x.sst\nsizes 0 10 1 0 1\ntail ring-1000-0-0 0 0 0\nend\n"));
  save("spool", "texts", spool_step(S::kTasks, 0, "task=0 pid=1000 status=0\ntask=1 pid=9 status=-1\n") +
       spool_step(S::kStepInfo, 0, "job=7\nstep=0\nsettings=trace,max_trace=10\nlocal_tasks=1,2,\n"));
  // Files that claim to be enormous.
  uint64_t huge = uint64_t{1} << 40;
  std::string size(reinterpret_cast<const char *>(&huge), sizeof huge);
  save_large("spool", "enormous_journal", journal + spool_step(S::kFileSize, kSpoolRings, size));
  save_large("spool", "enormous_ring", steps + spool_step(S::kFileSize, 0, size));
  save("spool", "head_out_of_its_mind", steps + spool_step(S::kRingPatch, 0, patch(offsetof(RingFile, events), huge)));
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIRECTORY\n");
    return 2;
  }
  root = argv[1];
  make_traces();
  make_spools();
  return 0;
}
