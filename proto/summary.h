// The mergeable fold over rows: what summary mode keeps, and what every report starts from.
//
// The fold depends only on the rows and the call table, not on their order across threads or on how
// they were cut into packets (except FileStats.sequential/strided, which follow each file's own order).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "proto/histogram.h"
#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"

namespace slurmscope {

struct CallKey {
  uint32_t call = 0, site = 0, object = 0;
  Locality locality = Locality::kUnknown;
  uint32_t size_bin = 0;
  auto operator<=>(const CallKey &) const = default;
};

struct CallStats {
  uint64_t count = 0, bytes = 0, ticks = 0, min_ticks = UINT64_MAX, max_ticks = 0, failed = 0;
  Histogram durations;
  void merge(const CallStats &other);
  bool operator==(const CallStats &) const = default;
};

struct PeerStats {
  uint64_t sent_count = 0, sent_bytes = 0, received_count = 0, received_bytes = 0;
  bool operator==(const PeerStats &) const = default;
};

/// The time from the start of the first of some calls to the end of the last; 0: none.
struct Span {
  uint64_t first_ticks = 0, last_ticks = 0;
  void add(uint64_t first, uint64_t last);
  uint64_t ticks() const { return last_ticks > first_ticks ? last_ticks - first_ticks : 0; }
  bool operator==(const Span &) const = default;
};

struct FileStats {
  uint64_t opens = 0, closes = 0, reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;
  uint64_t read_ticks = 0, write_ticks = 0, metadata = 0, metadata_ticks = 0;
  uint64_t sequential = 0, strided = 0, random = 0;
  uint64_t direct_opens = 0, unaligned = 0, maps = 0, bytes_mapped = 0;
  Span reading, writing;
  std::map<uint32_t, uint64_t> read_sizes, write_sizes;  // by size_bin
  void merge(const FileStats &other);
  bool operator==(const FileStats &) const = default;
};

/// Accesses that start at a multiple of this are aligned.
constexpr uint64_t kAlignment = 4096;

/// 0 for no bytes, else 1 + floor(log2 bytes).
uint32_t size_bin(uint64_t bytes);

/// The summary of one process.
class Summary {
 public:
  /// Classes of the stream's call table, by call index; must outlive the summary.
  explicit Summary(const std::vector<v1::CallClass> *classes) : classes_(classes) {}

  /// Folds one row. A receive that was started by one call and completed by another adds its bytes to
  /// the starting call (size_bin 0, where its count and time are); so does the receiving half of a
  /// Sendrecv. Bytes count only what moved: not failed, not cancelled, not PROC_NULL.
  void add(const TraceEvent &row);
  void merge(const Summary &other);
  /// Adds what a Summary packet says.
  void merge(const v1::Summary &packet);
  /// The whole content as one packet body.
  v1::Summary to_packet(uint32_t process) const;
  /// Forgets the counts but not where each file's accesses stand: what follows is a delta.
  void clear_counts();
  /// Where each file's accesses stand, for whoever takes the fold over after clear_counts(): as rows that
  /// mean nothing else.
  std::vector<TraceEvent> positions() const;
  void set_positions(const std::vector<TraceEvent> &rows);
  bool empty() const { return calls.empty() && files.empty() && peers.empty(); }
  bool operator==(const Summary &other) const {
    return calls == other.calls && peers == other.peers && files == other.files && span == other.span;
  }

  std::map<CallKey, CallStats> calls;
  std::map<int32_t, PeerStats> peers;    // by world rank
  std::map<uint32_t, FileStats> files;   // by file id
  Span span;                             // of all calls

 private:
  v1::CallClass class_of(uint32_t call) const;
  CallStats &stats_of(const CallKey &key);
  void add_call(const TraceEvent &row, v1::CallClass call_class);
  void add_receive_part(const TraceEvent &row);
  void add_completion(const TraceEvent &row, v1::CallClass call_class);
  void add_start_part(const TraceEvent &row);
  void add_file_completion(const TraceEvent &row);
  void add_sent(const TraceEvent &row);
  void add_received(const TraceEvent &row);
  void add_polls(const TraceEvent &row, v1::CallClass call_class);
  void add_file(const TraceEvent &row, v1::CallClass call_class);
  void add_access(const TraceEvent &row, bool is_write, FileStats *file);
  static Locality locality_of(const TraceEvent &row) {
    return static_cast<Locality>((row.flags & kRowLocalityMask) >> kRowLocalityShift);
  }
  const std::vector<v1::CallClass> *classes_;
  struct Position { uint64_t end = 0; int64_t gap = 0; bool seen = false; };
  std::map<std::pair<uint32_t, bool>, Position> positions_;  // (file, is write) -> for sequential/strided
  std::map<uint32_t, uint64_t> cursors_;                     // file -> position of unpositioned accesses
  // Entries of `calls` used lately (an application repeats few of them): saves the map's descent. Never
  // copied: a copy's entries are elsewhere. Entries are erased by clear_counts() only.
  struct Recent { CallKey key; CallStats *stats = nullptr; };
  struct RecentLines {
    RecentLines() = default;
    RecentLines(const RecentLines &) {}
    RecentLines &operator=(const RecentLines &) {
      for (Recent &line : lines) line = {};
      return *this;
    }
    Recent lines[64];
  } recent_;
};

}  // namespace slurmscope
