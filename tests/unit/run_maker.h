// Makes small traces with exactly known contents for the tests of the tools.
//
// One tick is one nanosecond and realtime is ticks + kRealtime, so expected times are exact. Used by the
// unit tests (in memory) and by tests/golden/make_golden (files).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/sink.h"
#include "proto/slurmscope.pb.h"
#include "proto/summary.h"
#include "proto/trace_writer.h"

namespace slurmscope::test {

constexpr int64_t kRealtime = 1700000000000000000;

/// Index in the call table of every trace made here.
enum Call : uint32_t { kInit = 1, kFinalize, kSend, kRecv, kIrecv, kWait, kBarrier, kAllreduce, kOpen, kRead, kWrite, kClose, kTest };

/// One node's stream.
class RunMaker {
 public:
  struct Options {
    std::string host = "n1", job = "7", step = "0", partition = "bm", vm = "none";
    bool trace = true;
    uint64_t stream_id = 1;
    uint32_t tasks = 1;
    int64_t clock_shift_ns = 0;   // of this node's realtime, with a ClockOffset that corrects it
    bool offset_is_known = true;  // false: without the ClockOffset
    int64_t realtime_step_ns = 0; // the wall clock is set by this between the second and the third anchor
    int64_t start_shift_ns = 0;   // when the run started
    std::string settings = "trace";
    std::vector<std::string> arguments = {"in.melt"};
    std::string build_id = "9f3a1c00";
    std::string world_id = "world";
  };
  explicit RunMaker(const Options &options);

  /// Adds a rank (or, with rank < 0, a process without MPI); returns its process id.
  uint32_t add_rank(int rank, int world_size);
  /// A call of the process from `start` to `end` (ns); returns the row to change it before `write`.
  TraceEvent &call(uint32_t process, Call call, uint64_t start, uint64_t end, uint64_t bytes = 0, int32_t peer = kPeerNone);
  void file(uint32_t process, uint32_t id, const std::string &path);
  v1::Process &process(uint32_t id) { return processes_[id]; }
  /// MPI_Init at `start`, MPI_Finalize's exit at `end`, both as calls of `width` ns.
  void life(uint32_t process, uint64_t start, uint64_t end, uint64_t width);
  void add(const v1::Packet &packet) { extra_.push_back(packet); }
  void task(uint32_t task, uint32_t pid, int wait_status);
  void loss(uint32_t process, const std::string &reason, uint64_t count, uint64_t ticks = 0);

  /// The whole file.
  std::string bytes(bool with_end = true) const;
  /// Changes the summary that is written for a process (tests of verify).
  std::map<uint32_t, v1::Summary> summary_override;

 private:
  Options options_;
  std::vector<v1::CallClass> classes_;
  v1::CallTable table_;
  std::map<uint32_t, v1::Process> processes_;
  std::map<uint32_t, std::vector<TraceEvent>> rows_;
  std::vector<v1::Packet> extra_;
};

/// Four ranks, 100 times: compute 8/8/8/12 ms, then a barrier of 50 us. Wall 1.205 s.
RunMaker make_imbalance(const RunMaker::Options &options);

/// Two ranks that exchange 10 messages of 1000 bytes and write a file; rank 1 is killed if asked.
RunMaker make_exchange(const RunMaker::Options &options, bool rank1_killed);

}  // namespace slurmscope::test
