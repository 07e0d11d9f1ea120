// See run_maker.h.
#include "tests/unit/run_maker.h"

#include <algorithm>

namespace slurmscope::test {
namespace {

constexpr uint64_t kMs = 1000000, kUs = 1000;

struct Entry { const char *name; v1::CallClass call_class; };
constexpr Entry kTable[] = {{"", v1::CLASS_UNKNOWN}, {"MPI_Init", v1::CLASS_SETUP}, {"MPI_Finalize", v1::CLASS_SETUP},
                            {"MPI_Send", v1::CLASS_SEND}, {"MPI_Recv", v1::CLASS_RECEIVE}, {"MPI_Irecv", v1::CLASS_START_RECEIVE},
                            {"MPI_Wait", v1::CLASS_WAIT}, {"MPI_Barrier", v1::CLASS_COLLECTIVE},
                            {"MPI_Allreduce", v1::CLASS_COLLECTIVE}, {"open", v1::CLASS_OPEN}, {"read", v1::CLASS_READ},
                            {"write", v1::CLASS_WRITE}, {"close", v1::CLASS_CLOSE}, {"MPI_Test", v1::CLASS_TEST}};

}  // namespace

RunMaker::RunMaker(const Options &options) : options_(options) {
  for (const Entry &entry : kTable) {
    classes_.push_back(entry.call_class);
    v1::Call *call = table_.add_calls();
    call->set_name(entry.name);
    call->set_class_(entry.call_class);
  }
}

uint32_t RunMaker::add_rank(int rank, int world_size) {
  uint32_t id = static_cast<uint32_t>(processes_.size()) + 1;
  v1::Process &p = processes_[id];
  p.set_id(id);
  p.set_pid(1000 + id);
  p.set_exe("/opt/app/solver");
  p.set_build_id(options_.build_id);
  p.add_arguments("solver");
  for (const std::string &argument : options_.arguments) p.add_arguments(argument);
  p.set_attach_ticks(1);
  if (rank >= 0) {
    p.set_world_rank(rank);
    p.set_world_size(world_size);
    p.set_world_id(options_.world_id);
    p.set_mpi_library("Test MPI 1.0");
  }
  return id;
}

TraceEvent &RunMaker::call(uint32_t process, Call call, uint64_t start, uint64_t end, uint64_t bytes, int32_t peer) {
  TraceEvent row;
  row.start = start;
  row.end = end;
  row.call = call;
  row.bytes = bytes;
  row.peer = peer;
  if (peer >= 0) row.flags = kRowMessage;
  rows_[process].push_back(row);
  return rows_[process].back();
}

void RunMaker::file(uint32_t process, uint32_t id, const std::string &path) {
  v1::Packet packet;
  packet.mutable_file()->set_process(process);
  packet.mutable_file()->set_id(id);
  packet.mutable_file()->set_path(path);
  add(packet);
}

void RunMaker::life(uint32_t process, uint64_t start, uint64_t end, uint64_t width) {
  v1::Process &p = processes_[process];
  p.set_init_start_ticks(start);
  p.set_init_end_ticks(start + width);
  p.set_finalize_start_ticks(end - width);
  p.set_finalize_end_ticks(end);
  p.set_end_ticks(end + kMs);
  p.set_exited(true);
  call(process, kInit, start, start + width);
  call(process, kFinalize, end - width, end);
}

void RunMaker::task(uint32_t task, uint32_t pid, int wait_status) {
  v1::Packet packet;
  packet.mutable_task()->set_task(task);
  packet.mutable_task()->set_pid(pid);
  packet.mutable_task()->set_wait_status(wait_status);
  add(packet);
}

void RunMaker::loss(uint32_t process, const std::string &reason, uint64_t count, uint64_t ticks) {
  v1::Packet packet;
  packet.mutable_loss()->set_process(process);
  packet.mutable_loss()->set_reason(reason);
  packet.mutable_loss()->set_count(count);
  packet.mutable_loss()->set_ticks(ticks);
  add(packet);
}

std::string RunMaker::bytes(bool with_end) const {
  MemorySink sink;
  TraceWriter writer(&sink);
  v1::Packet packet;
  auto put = [&] {
    writer.write(packet);
    packet.Clear();
  };
  packet.mutable_header()->set_format_major(1);
  packet.mutable_header()->set_tool_version("0.1.0");
  packet.mutable_header()->set_stream_id(options_.stream_id);
  packet.mutable_header()->set_mode(options_.trace ? v1::Header::MODE_TRACE : v1::Header::MODE_SUMMARY);
  packet.mutable_header()->set_settings(options_.settings);
  put();
  packet.mutable_run()->set_job(options_.job);
  packet.mutable_run()->set_step(options_.step);
  packet.mutable_run()->set_partition(options_.partition);
  packet.mutable_run()->set_starter("slurm");
  packet.mutable_run()->set_tasks(options_.tasks);
  put();
  packet.mutable_node()->set_host(options_.host);
  packet.mutable_node()->set_ticks_per_second(1e9);
  packet.mutable_node()->mutable_virtualization()->set_vm(options_.vm);
  put();
  v1::ClockAnchors &anchors = *packet.mutable_clock_anchors();
  for (uint64_t ticks : {uint64_t{1}, uint64_t{1000000001}, uint64_t{3000000001}}) {
    anchors.add_ticks(ticks);
    anchors.add_monotonic_ns(static_cast<int64_t>(ticks));
    int64_t step = ticks > 1000000001 ? options_.realtime_step_ns : 0;
    anchors.add_realtime_ns(kRealtime + options_.start_shift_ns + options_.clock_shift_ns + static_cast<int64_t>(ticks) + step);
    anchors.add_width_ticks(10);
  }
  put();
  if (options_.clock_shift_ns != 0 && options_.offset_is_known) {
    packet.mutable_clock_offset()->set_ticks(1);
    packet.mutable_clock_offset()->set_offset_ns(-options_.clock_shift_ns);
    packet.mutable_clock_offset()->set_error_ns(100);
    put();
  }
  *packet.mutable_call_table() = table_;
  put();
  for (const auto &[id, process] : processes_) {
    *packet.mutable_process() = process;
    put();
    packet.mutable_thread()->set_process(id);
    packet.mutable_thread()->set_id(1);
    packet.mutable_thread()->set_is_main(true);
    put();
  }
  for (const v1::Packet &extra : extra_) writer.write(extra);
  for (const auto &[id, rows] : rows_) {
    std::vector<TraceEvent> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const TraceEvent &a, const TraceEvent &b) { return a.end < b.end; });
    if (options_.trace) writer.write_events(id, 1, sorted);
    Summary summary(&classes_);
    for (const TraceEvent &row : sorted) summary.add(row);
    auto override = summary_override.find(id);
    *packet.mutable_summary() = override == summary_override.end() ? summary.to_packet(id) : override->second;
    put();
    writer.flush();  // a frame per process: a cut loses one rank, not all
  }
  if (!with_end) {
    writer.flush();
    return sink.bytes;
  }
  packet.mutable_stream_end()->set_clean(true);
  put();
  writer.finish();
  return sink.bytes;
}

RunMaker make_imbalance(const RunMaker::Options &options) {
  RunMaker maker(options);
  constexpr uint64_t kStart = 1 * kMs, kRounds = 100, kLongest = 12 * kMs, kCost = 50 * kUs;
  for (int rank = 0; rank < 4; ++rank) {
    uint32_t id = maker.add_rank(rank, 4);
    uint64_t compute = rank == 3 ? kLongest : 8 * kMs, at = kStart;
    for (uint64_t i = 0; i < kRounds; ++i) {
      maker.call(id, kBarrier, at + compute, at + kLongest + kCost);
      at += kLongest + kCost;
    }
    maker.process(id).set_init_start_ticks(kStart);
    maker.process(id).set_finalize_end_ticks(at);
    maker.process(id).set_end_ticks(at + kMs);
    maker.process(id).set_wait_status(0);
  }
  return maker;
}

RunMaker make_exchange(const RunMaker::Options &options, bool rank1_killed) {
  RunMaker maker(options);
  for (int rank = 0; rank < 2; ++rank) {
    uint32_t id = maker.add_rank(rank, 2);
    maker.file(id, 1, "/scratch/out." + std::to_string(rank));
    maker.life(id, kMs, 101 * kMs, kMs);
    for (uint64_t i = 0; i < 10; ++i) {
      uint64_t at = 10 * kMs + i * kMs;
      if (rank == 0) maker.call(id, kSend, at, at + 20 * kUs, 1000, 1);
      else maker.call(id, kRecv, at, at + 30 * kUs, 1000, 0);
    }
    maker.call(id, kOpen, 50 * kMs, 51 * kMs).object = 1;
    maker.call(id, kWrite, 52 * kMs, 54 * kMs, 4096).object = 1;
    maker.call(id, kWrite, 54 * kMs, 56 * kMs, 4096).object = 1;
    maker.call(id, kClose, 57 * kMs, 58 * kMs).object = 1;
    v1::Process &p = maker.process(id);
    p.set_wait_status(0);
    if (rank == 1 && rank1_killed) {
      p.clear_finalize_start_ticks();
      p.clear_finalize_end_ticks();
      p.set_exited(false);
      p.set_wait_status(9);
      p.set_end_source("slurm");
    }
  }
  return maker;
}

}  // namespace slurmscope::test
