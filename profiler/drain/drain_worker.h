// The drainer's worker: follows a spool from its first process to the end of the step, and writes the trace.
//
// Run by the supervisor in a child of its own (it may be killed and run again at any time), by --finish
// when no drainer is left, and by tests. Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/settings.h"
#include "proto/trace_writer.h"
#include "profiler/drain/clock_reader.h"
#include "profiler/drain/follower.h"
#include "profiler/drain/journal.h"
#include "profiler/drain/output_file.h"
#include "profiler/drain/spool.h"

namespace slurmscope {

class DrainWorker {
 public:
  struct Options {
    uint32_t starter_pid = 0;        // whose death ends the step too; 0 = unknown
    bool ends_now = false;           // no drainer is left: take what is there and end
    bool gives_up = false;           // throw Error when the trace cannot be written, with the spool as it was
    std::string probe_root;          // before /proc and /sys, for tests
    std::string output;              // directory to write to; "" = where step.info says
  };
  DrainWorker(const Spool *spool, Options options);
  ~DrainWorker();

  /// Follows until the end of the step. Returns "" if everything is in the trace, else what was lost.
  std::string run();
  /// One round: looks at everything, writes if it is time. Returns false once the step has ended and all is
  /// written. For tests; run() calls it and waits in between.
  bool round();
  /// Path of the trace, "" if there is none.
  const std::string &trace() const { return output_.path(); }
  /// Pids of the processes that live.
  std::vector<uint32_t> running() const;
  /// From now on wait() also ends when a file appears in the spool. Takes SIGIO; for one worker per process.
  void listen();
  /// Waits until a producer or --finish wakes the drainer, at most `milliseconds`.
  void wait(int milliseconds);

 private:
  void map_state();
  void resume();
  void reopen_output(const CommitRecord &record, bool *is_committed);
  bool has_ended();
  bool is_starter_gone();
  void await_exits();
  void take_anchor();
  void take_tasks();
  bool is_due(bool is_changed) const;
  void write_batch(bool with_summaries);
  bool try_write(bool with_summaries);
  void open_output();
  uint64_t job_bytes(const std::string &directory) const;
  void set_trace_limit(uint64_t used);
  void write_head();
  void write_process(FollowedProcess *process, bool with_summaries);
  void write_losses(uint32_t process, LossCounts *losses);
  void confirm(bool with_summaries);
  void count_unwritten();
  void withdraw();
  bool lose_batch(const char *reason, int sign);
  void save_commit(const CommitRecord &record, bool with_summaries);
  void end();
  std::string refusals() const;
  std::string trouble() const;
  void write_end(bool is_clean, const std::string &detail);
  v1::Packet run_packet() const;
  v1::Packet node_packet() const;
  void note(const std::string &text);

  const Spool *spool_;
  Options options_;
  Settings settings_;
  std::map<std::string, std::string> info_;
  v1::CallTable call_table_;
  CallRoles roles_;
  Journal journal_;
  Follower follower_;
  OutputFile output_;
  std::unique_ptr<TraceWriter> writer_;
  DrainState *state_ = nullptr;
  uint32_t seen_wake_ = 0;

  uint64_t stream_id_ = 0;
  uint32_t slot_ = 0;                    // of the checkpoint that counts
  bool is_head_written_ = false;
  bool is_node_written_ = false;
  v1::Packet node_;                      // probed once
  std::vector<ClockAnchor> anchors_;     // not written yet
  size_t anchors_written_ = 0;           // in the attempt at hand
  ClockAnchor first_anchor_{}, last_anchor_{};
  uint64_t last_anchor_ns_ = 0, last_commit_ns_ = 0, last_summary_ns_ = 0, last_try_ns_ = 0, starter_gone_ns_ = 0;
  uint64_t tasks_offset_ = 0;
  std::vector<std::string> node_definitions_;  // serialized Note and Task packets
  size_t node_definitions_written_ = 0;
  LossCounts losses_;                    // of the node
  std::string write_error_;              // the last one; "" = the output is fine
  std::string lost_why_;                 // what an error that is over has cost; "" = nothing
  uint64_t trace_limit_ = 0;             // bytes of the file at which its rows end
  std::string limit_detail_;             // why there
  bool has_kept_commit_ = false;         // a predecessor's record, for withdraw()
  bool has_written_ = false;             // a batch
  bool is_cut_ = false, is_over_limit_ = false, has_end_ = false, is_done_ = false;
};

}  // namespace slurmscope
