// One recorded process as the drainer knows it: its rings, its definitions as packets, its summary.
//
// Made and driven by the Follower. Single-threaded. Packets are collected here and written by the
// DrainWorker; what reached the file is only forgotten once the file has it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/ring.h"
#include "proto/summary.h"
#include "profiler/drain/clock_reader.h"
#include "profiler/drain/modules.h"
#include "profiler/drain/mounts.h"
#include "profiler/drain/process_watch.h"
#include "profiler/drain/resolver.h"
#include "profiler/drain/ring_view.h"

namespace slurmscope {

class FollowedProcess;

struct FollowedRing {
  std::string name;
  uint32_t journal_index = 0;
  FollowedProcess *process = nullptr;
  std::unique_ptr<RingView> view;     // NULL: its file is gone
  uint64_t head = 0;                  // of the round
  Resolver::RingContext context;
  struct Use { uint64_t from; uint32_t thread; };
  std::vector<Use> uses;              // which thread had the ring, by time
  std::vector<TraceEvent> rows;       // of the batch, in trace mode
  struct Part { uint32_t thread; size_t end; };
  std::vector<Part> parts;            // rows[.., end) are the thread's
  std::vector<v1::Packet> samples;    // of the batch

  uint32_t thread_at(uint64_t time);
};

/// Loss of the node: processes that could make no file in the spool.
constexpr const char kRefusedProcess[] = "process not recorded";

/// What has been lost so far, by reason, and what of it the file says already.
struct LossCounts {
  struct Entry { uint64_t count = 0, ticks = 0; bool operator==(const Entry &) const = default; };
  using Entries = std::map<std::string, Entry>;
  Entries now, written;
  void set(const std::string &reason, uint64_t count, uint64_t ticks = 0);
  void add(const std::string &reason, uint64_t count);
};

class FollowedProcess {
 public:
  FollowedProcess(uint32_t id, std::string name, const ProcessFile &file, const CallRoles *roles);

  uint32_t id() const { return id_; }
  const std::string &name() const { return name_; }
  const ProcessFile &file() const { return *file_; }
  /// Takes what is new in the process's file; true if it changed.
  bool update(const ProcessFile &file);

  /// The process lives in another time namespace. Before anything of its rings is taken.
  void set_clock_shift(const ClockShift &shift);
  /// Of the process's clock to the node's, which is the drainer's; 0 (did not happen) stays. The TSC is the same in
  /// all namespaces.
  uint64_t node_ticks(uint64_t own) const { return own == 0 ? 0 : own - tick_shift_; }

  /// One record of a definition ring. Returns false if it was malformed.
  bool define(const DefinitionHeader *record, FollowedRing *ring);
  /// One record of a sample ring.
  void sample(const DefinitionHeader *record, FollowedRing *ring);
  /// Looks for mapped objects that are not known yet.
  void refresh_modules();

  /// Asks how the ended process ended; true if that became known.
  bool take_wait_status();
  v1::Packet process_packet() const;
  /// Reads the loss counters of its file and rings into `losses`.
  void count_losses();
  /// Keeps the counters of a ring whose file is given up.
  void count_ring_losses(const RingView &ring);
  /// Counts what the drainer itself had to give up.
  void lose(const std::string &reason, uint64_t count) { own_losses_[reason].count += count; }
  /// The losses that stand neither in the process's file nor in its rings: a successor takes them over.
  LossCounts::Entries own_losses() const;
  void restore_losses(const LossCounts::Entries &entries) { own_losses_ = entries; }

  std::vector<std::unique_ptr<FollowedRing>> rings;
  Resolver resolver;
  Summary summary;
  ProcessWatch watch;
  LocalRanks *world = nullptr;
  LossCounts losses;
  std::vector<std::string> definitions;  // serialized packets that the file has not yet, in order
  bool is_described = false;             // the file has its process_packet()
  bool is_changed = true;                // process_packet() differs from what the file has
  bool is_gone = false;                  // ended, and all it left has been taken
  uint64_t end_ticks = 0, gone_ns = 0;   // when that was seen; the node's clock, CLOCK_MONOTONIC
  std::optional<int32_t> wait_status;
  std::string end_source;
  // Ids of call paths that were sampled start here; those of call sites are the process's own and small.
  uint32_t first_sample_path = kFirstSamplePath;
  static constexpr uint32_t kFirstSamplePath = 1 << 24, kMaxSamplePaths = 1 << 20;
  uint64_t horizon = 0;                  // ticks before the heads of the round were read
  uint64_t mpi_ready_ns = 0;             // CLOCK_MONOTONIC when its rank became known

 private:
  void add_definition(const v1::Packet &packet);
  void name_mount(const FileDefinition &definition, std::string_view path, v1::File *file);
  void define_note(const DefinitionHeader *record);
  void define_thread(const DefinitionHeader *record, FollowedRing *ring);
  void define_counter(const DefinitionHeader *record);
  void define_counter_set();
  uint32_t path_id(const uint64_t *addresses, uint32_t depth);
  void know_addresses(const uint64_t *addresses, uint32_t depth);

  uint32_t id_;
  std::string name_;
  std::unique_ptr<ProcessFile> file_;
  ClockShift clock_shift_;
  uint64_t tick_shift_ = 0;
  std::string build_id_;
  ModuleList modules_;
  MountTable mounts_;
  uint64_t mounts_read_ns_ = 0;
  uint64_t modules_read_ns_ = 0;
  uint32_t thread_count_ = 0;
  std::set<uint32_t> sites_, files_;
  std::set<std::pair<uint64_t, std::string>> notes_;
  std::map<uint32_t, std::string> counters_;                // by id
  std::vector<std::pair<std::string, std::string>> counter_errors_;
  std::map<std::string, uint32_t> sample_paths_;            // addresses -> id
  LossCounts::Entries own_losses_;                          // of rings that were given up, and the drainer's own
  friend class Follower;
};

}  // namespace slurmscope
