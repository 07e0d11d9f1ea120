// Follows the files of a spool: finds processes and rings, and turns what is in them into batches of rows.
//
// Driven by the DrainWorker, single-threaded. A round is: heads of all event rings, new files, definitions
// of all rings, then events up to those heads; so no event overtakes its definition. Events of several
// threads of a process are merged by the time of their end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "profiler/drain/followed_process.h"
#include "profiler/drain/journal.h"
#include "profiler/drain/spool.h"

namespace slurmscope {

class Follower {
 public:
  Follower(const Spool *spool, Journal *journal, const CallRoles *roles);

  /// Takes up what a predecessor knew. Call for each journal record, in order, before anything else.
  void replay(Journal::Kind kind, std::string_view content);
  /// Ids of sampled call paths must not be those of a predecessor.
  void set_generation(uint32_t generation) { generation_ = generation; }

  /// Becomes readable when a file appears in the spool; -1: there is no such thing here.
  int notifications() const { return inotify_.get(); }
  /// Looks at processes: news in their files, ended or not. True if anything changed.
  bool watch_processes();
  /// Finds new files. True if there were some.
  bool discover();
  /// True if some ring is so full that its producer may have to wait soon.
  bool is_pressing() const;
  /// True if there is anything that was not taken yet.
  bool has_backlog() const;
  /// Takes a batch: into the rows (if `keeps_rows`), samples and summaries of the processes. With `is_last`
  /// nothing is held back. Returns true if the batch was cut short: there is more at once.
  bool collect(bool keeps_rows, bool is_last);
  /// Forgets the batch's rows and samples.
  void clear_batch();
  /// Gives the rings the room of all that was taken back, and files of processes that are gone up.
  void release();
  std::map<std::string, RingView::Tails> tails() const;
  /// Sets rings to where a predecessor's commit left them.
  void set_tails(const std::map<std::string, RingView::Tails> &tails);

  bool has_processes() const { return !processes_.empty(); }
  /// True if no process that is known still lives.
  bool are_all_gone() const;
  const std::vector<std::unique_ptr<FollowedProcess>> &processes() const { return processes_; }
  FollowedProcess *find_process(uint32_t id) { return id >= 1 && id <= processes_.size() ? processes_[id - 1].get() : nullptr; }
  /// The clock that the processes use.
  ClockKind clock() const { return clock_; }
  /// Complaints about files that were refused, since the last call.
  std::vector<std::string> take_complaints();

  static constexpr uint64_t kMaxBatchEvents = 1 << 19;

 private:
  static bool has_backlog(const FollowedRing &ring);
  bool add_process(const std::string &name, bool is_replayed);
  bool add_ring(const std::string &name, bool is_replayed);
  void update_world(FollowedProcess *process);
  bool is_held(const FollowedProcess &process) const;
  void take_definitions(FollowedProcess *process);
  uint64_t take_events(FollowedProcess *process, bool keeps_rows, bool is_last, uint64_t limit);
  uint64_t take_group(FollowedProcess *process, FollowedRing *ring, bool keeps_rows, uint64_t until, uint64_t limit);

  const Spool *spool_;
  Journal *journal_;
  const CallRoles *roles_;
  Descriptor inotify_;
  bool must_scan_ = true;
  uint32_t generation_ = 0;
  ClockKind clock_ = ClockKind::kTsc;
  std::vector<std::unique_ptr<FollowedProcess>> processes_;  // by id - 1
  std::vector<FollowedRing *> rings_;                        // by journal index; owned by the processes
  std::map<std::string, FollowedProcess *> by_name_;
  size_t first_ = 0;                                         // whose events a batch takes first, in turn
  uint64_t files_read_ns_ = 0;                               // when the processes' files were looked at
  std::set<std::string> known_, refused_;
  std::map<std::string, std::unique_ptr<LocalRanks>> worlds_;  // by world id
  std::vector<std::string> complaints_;
};

}  // namespace slurmscope
