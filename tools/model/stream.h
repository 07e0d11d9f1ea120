// The streams of a run's files as they were written: definitions, sums and facts, no analysis.
//
// A stream is what one drainer wrote: one node, one step. Built by load_run, by verify (which also
// looks at the rows) and by tests from memory. Keeps sums, not events: the size depends on the number of
// processes, call sites and files, not on how long the run was. Single-threaded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "proto/clock_map.h"
#include "proto/slurmscope.pb.h"
#include "proto/summary.h"
#include "proto/trace_reader.h"
#include "tools/model/clock_offsets.h"

namespace slurmscope {

struct CounterLast {
  uint64_t ticks = 0;
  std::vector<int64_t> values;
  bool is_last = false;
};

/// Return addresses, innermost first.
struct CallPathRecord {
  std::vector<uint64_t> addresses;
  bool is_truncated = false;
};

/// Everything one process of a stream left behind.
struct ProcessRecord {
  v1::Process info;
  bool defined = false;                   // a Process packet was seen
  std::unique_ptr<Summary> summary;
  std::map<uint32_t, v1::Communicator> communicators;
  std::map<uint32_t, v1::File> files;
  std::map<uint32_t, CallPathRecord> call_paths;
  std::map<uint32_t, v1::Thread> threads;
  std::vector<v1::Module> modules;
  std::optional<v1::CounterSet> counter_set;
  std::map<uint32_t, CounterLast> counters;          // by thread
  std::map<uint32_t, uint64_t> samples;              // by call path
  uint64_t event_rows = 0;
};

struct Stream {
  std::string path;                       // of the file it was first seen in
  v1::Header header;
  v1::Run run;
  bool has_run = false;
  v1::Node node;
  ClockMap clock;
  std::map<uint64_t, std::pair<int64_t, uint64_t>> offsets;  // ticks -> offset to rank 0's node, error (ns)
  SolvedClock solved;                     // the same from the run's own messages (read_events)
  std::vector<std::string> call_names;
  std::vector<v1::CallClass> call_classes;  // Summary holds a pointer to it
  std::map<uint32_t, ProcessRecord> processes;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, v1::Loss> losses;  // (process, thread, reason)
  std::map<uint32_t, v1::Task> tasks;
  std::vector<v1::Note> notes;
  std::optional<v1::StreamEnd> end;

  ProcessRecord &process(uint32_t id);
  /// "call 17" if the table does not name it.
  std::string call_name(uint32_t call) const;
  v1::CallClass call_class(uint32_t call) const;
  std::string host() const;
  /// CLOCK_REALTIME of rank 0's node as far as offsets are known.
  int64_t common_realtime_ns(uint64_t ticks) const;
  bool has_known_offset() const { return solved.is_solved || !offsets.empty(); }
  int64_t offset_ns(uint64_t ticks) const;
  uint64_t largest_offset_error_ns() const;
};

/// One file as it was read.
struct LoadedFile {
  std::string path;
  TraceDamage damage;
  bool has_index = false;
  std::string error;                      // why nothing could be read; damage says the rest
};

/// Collects packets of any number of files into streams.
class StreamSet {
 public:
  /// Reads a file. What precedes damage is kept; a file that is no trace at all throws Error.
  void add_file(const std::string &path);
  /// The same for bytes in memory (tests).
  void add_bytes(const std::string &name, std::string_view bytes);
  /// Starts a file by hand: what visit() gets from now on comes from `path`.
  void begin_file(const std::string &path);
  /// Takes one packet in file order.
  void visit(const v1::Packet &packet);
  /// Call after the last file: the summaries of a stream that has no end (its drainer still runs, or was
  /// killed) are older than its events; where the events say more, they count. Reads the files again.
  void complete_from_events();
  /// Call after the last packet: prepares the clocks.
  void finish();
  /// The stream that the next packet would belong to; null before a header.
  Stream *current() { return current_; }

  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<LoadedFile> files;

 private:
  Stream *find(uint64_t stream_id);
  Stream *current_ = nullptr;
};

}  // namespace slurmscope
