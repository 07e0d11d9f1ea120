// A run as the reports see it: worlds of ranks with their times, calls, files and how they ended.
//
// Numbers only, no text for people except names and reasons that the trace itself carries. Made by
// load_run() and build_worlds(); read by report, compare and dump. Nothing here changes once built.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/model/category.h"
#include "tools/model/largest_gaps.h"
#include "tools/model/match_messages.h"
#include "tools/model/stream.h"

namespace slurmscope {

/// A histogram and what one of its ticks is worth: nodes count in their own ticks.
struct ScaledHistogram {
  const Histogram *histogram;
  double seconds_per_tick;
};
/// Quantile in seconds over several histograms (nearest rank, middle of the bucket); 0 if all are empty.
double merged_quantile(const std::vector<ScaledHistogram> &parts, double q);

/// One call of one rank, summed over call sites, communicators and message sizes.
struct CallTotals {
  std::string name;
  v1::CallClass call_class = v1::CLASS_UNKNOWN;
  uint64_t count = 0, bytes = 0, failed = 0;
  double seconds = 0, min_seconds = 0, max_seconds = 0;
  Histogram durations;
  double seconds_per_tick = 0;
  /// A bucket's middle may lie beyond the extreme value in it: never outside what was seen.
  double quantile(double q) const {
    return std::clamp(merged_quantile({{&durations, seconds_per_tick}}, q), min_seconds, std::max(min_seconds, max_seconds));
  }
};

struct FileTotals {
  std::string path, filesystem, mount;
  FileStats stats;
  double read_seconds = 0, write_seconds = 0, metadata_seconds = 0;
  double reading_seconds = 0, writing_seconds = 0, use_seconds = 0;  // from first to last: reads, writes, both
};

struct CounterValue {
  std::string name;
  std::optional<int64_t> value;
  std::string error;          // why there is no value
  bool complete = false;      // read at the end of every thread
};

/// One process: an MPI rank, or a process without MPI that did enough I/O.
struct RankModel {
  int rank = 0;               // world rank; without MPI the task id or a running number
  bool is_mpi = false;
  const Stream *stream = nullptr;
  uint32_t process_id = 0;
  const ProcessRecord *record = nullptr;
  std::string host;
  int64_t start_ns = 0, end_ns = 0;   // realtime of rank 0's node; 0 = not known
  double wall_s = 0;                  // own span
  CategoryTimes categories{};         // sums to the world's wall_s
  double mpi_s = 0, io_s = 0;
  std::vector<CallTotals> calls;      // by name
  std::map<int32_t, PeerStats> peers;
  std::vector<FileTotals> files;      // by path
  std::vector<CounterValue> counters;
  std::optional<int> wait_status;
  bool init_seen = false, finalize_seen = false, still_open = false;
  std::optional<LargestGaps> gaps;    // from the events
};

struct LossModel {
  std::string reason, detail, host;
  std::optional<int> rank;
  uint64_t count = 0;
  double seconds = 0;
  bool loses_events = false;  // sums are incomplete, not only the time line
};

struct TaskEnd {
  uint32_t task = 0, pid = 0;
  std::string host;
  int wait_status = 0;
};

struct NoteModel {
  std::string host, text;
  std::optional<int> rank;
};

/// How the clock of a stream (a node) stands to that of rank 0's node.
struct ClockModel {
  const Stream *stream = nullptr;
  enum class Method { kReference, kMessages, kMeasured, kWallClock } method = Method::kWallClock;
  std::string via;            // host that it was compared with
  uint64_t pairs = 0;         // messages and collectives compared
  bool is_one_way = false;    // messages went in one direction only: they say no offset
  // What must be added to the node's time; the error is infinite if nobody knows it.
  double start_offset_ns = 0, start_error_ns = 0, end_offset_ns = 0, end_error_ns = 0, drift_ppm = 0;
  struct Step { int64_t at_ns; double size_ns; };  // time of the reference; 0 = size not known
  std::vector<Step> steps;
};

/// Messages between two clocks, or within one.
struct ClockPairModel {
  std::string a, b;
  uint64_t a_to_b = 0, b_to_a = 0;
  // Smallest arrival minus departure on the common time line.
  std::optional<double> least_a_to_b_ns, least_b_to_a_ns;
  double error_ns = 0;        // of that; infinite if not known
  double excess_ns = 0;       // by how much a latency is below -error: no offset explains these messages
};

/// Ranks that form one MPI_COMM_WORLD, or the processes of a step without MPI.
struct World {
  std::string label;          // "0", "batch", "0.restart1", "batch/2" (second world of that step)
  v1::Run run;                // of the stream with the lowest rank
  bool is_mpi = false;
  int size = 0;               // of the world as MPI said it
  std::vector<RankModel> ranks;   // by rank
  std::vector<RankModel> others;  // processes without MPI beside them, by host and pid
  std::vector<const Stream *> streams;
  int64_t start_ns = 0, end_ns = 0;
  double wall_s = 0;
  uint64_t events = 0;        // calls counted
  std::vector<TaskEnd> tasks; // by task
  std::vector<LossModel> losses;
  std::vector<NoteModel> notes;
  std::vector<std::string> hosts;  // of the ranks, sorted
  std::vector<ClockModel> clocks;  // one per stream, the reference first
  std::vector<ClockPairModel> clock_pairs;
  std::optional<MessageCounts> messages;  // from the events
  bool complete() const { return is_mpi ? static_cast<int>(ranks.size()) == size : true; }
  std::vector<int> missing_ranks() const;
  std::string mpi_library() const;
};

/// Everything that was loaded for one RUN argument.
struct RunModel {
  std::string path;           // as people would name it
  StreamSet set;
  std::vector<World> worlds;  // MPI first, larger first, longer first
  const World &chosen() const { return worlds.at(selected); }
  size_t selected = 0;
};

/// Groups the streams' processes into worlds and computes every rank.
std::vector<World> build_worlds(const StreamSet &set);

/// How a process ended, for people: "", "exit code 3", "signal 9 (Killed)", "no MPI_Finalize"...
std::string end_text(const RankModel &rank);
/// "exit code 3" or "signal 9 (Killed)".
std::string wait_status_text(int wait_status);
/// True if the rank did not end as an application that succeeded does.
bool ended_badly(const RankModel &rank);

}  // namespace slurmscope
