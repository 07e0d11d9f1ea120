// What a batch puts into the trace, and how it survives a full disk. See drain_worker.h.
//
// Nothing is forgotten before the file has it, except rows and samples: those are counted as lost if they
// cannot be written, because memory must stay bounded and the application must not wait.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "config.h"
#include "proto/error.h"
#include "proto/version.h"
#include "profiler/drain/checkpoint.h"
#include "profiler/drain/drain_worker.h"
#include "profiler/drain/node_facts.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {
constexpr uint64_t kRetryNs = 10'000'000'000;
constexpr size_t kFewAnchors = 16;  // not worth a frame of their own
constexpr uint64_t kMinRateNs = 1'000'000;  // anchors closer than this say little about the rate
constexpr const char kWriteError[] = "write error", kTraceLimit[] = "trace limit", kJournal[] = "journal";

uint32_t number_in(const std::string &text) { return static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10)); }
}  // namespace

v1::Packet DrainWorker::run_packet() const {
  v1::Packet packet;
  v1::Run *run = packet.mutable_run();
  for (const auto &[key, raw] : info_) {
    std::string value = utf8_text(raw);
    if (key == "job") run->set_job(value);
    else if (key == "step") run->set_step(value);
    else if (key == "job_name") run->set_job_name(value);
    else if (key == "user") run->set_user(value);
    else if (key == "cluster") run->set_cluster(value);
    else if (key == "partition") run->set_partition(value);
    else if (key == "node_list") run->set_node_list(value);
    else if (key == "nodes") run->set_nodes(number_in(value));
    else if (key == "node_id") run->set_node_id(number_in(value));
    else if (key == "tasks") run->set_tasks(number_in(value));
    else if (key == "array_job") run->set_array_job(value);
    else if (key == "array_task") run->set_array_task(value);
    else if (key == "restart") run->set_restart(number_in(value));
    else if (key == "het_group") run->set_het_group(value);
    else if (key == "starter") run->set_starter(value);
    else if (key == "command") run->set_command(value);
    else if (key == "submit_dir") run->set_submit_directory(value);
    else if (key == "start_realtime_ns") run->set_start_realtime_ns(std::strtoll(value.c_str(), nullptr, 10));
    else if (key == "local_tasks") {
      for (size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1)
        run->add_local_tasks(number_in(value.substr(at)));
    } else if (key == "label") run->add_labels(value);
    else if (key != "settings" && key != "output" && key != "file" && key != "host" && key != "uid")
      (*run->mutable_extra())[utf8_text(key)] = value;
  }
  return packet;
}

v1::Packet DrainWorker::node_packet() const {
  v1::Packet packet = node_;
  v1::Node *node = packet.mutable_node();
  bool is_tsc = follower_.clock() == ClockKind::kTsc;
  node->set_clock(is_tsc ? v1::Node::CLOCK_KIND_TSC : v1::Node::CLOCK_KIND_MONOTONIC);
  int64_t span = last_anchor_.monotonic - first_anchor_.monotonic;
  if (!is_tsc) node->set_ticks_per_second(1e9);
  else if (span >= static_cast<int64_t>(kMinRateNs))
    node->set_ticks_per_second(static_cast<double>(last_anchor_.tsc - first_anchor_.tsc) / static_cast<double>(span) * 1e9);
  return packet;
}

void DrainWorker::open_output() {
  if (!output_.is_open()) {
    std::string directory = info_.contains("output") ? info_["output"] : "", base = info_.contains("file") ? info_["file"] : "";
    if (directory.empty() || directory[0] != '/' || base.empty() || base.find('/') != std::string::npos)
      throw Error(spool_->path() + "/step.info names no output directory and file");
    set_trace_limit(job_bytes(directory));
    output_.create(directory, base);
    if (!output_.group_trouble().empty()) note(output_.group_trouble());
    // A successor must find the file, though nothing is in it yet, or it would make another one. (After a failure
    // there is a record already, which says where the rings stand.)
    if (spool_->read_text(kCommitName).empty())
      spool_->write_text(kCommitName, CommitRecord{output_.path(), output_.inode(), 0, UINT64_MAX, slot_, slot_, true, {}}.serialize());
    is_head_written_ = false;
  }
  if (!writer_) writer_ = std::make_unique<TraceWriter>(&output_, output_.size());
}

// What earlier steps of the job have left of this node. The folder that a salvage was told may hold other jobs' traces.
uint64_t DrainWorker::job_bytes(const std::string &directory) const {
  auto host = info_.find("host");
  return options_.output.empty() && host != info_.end() ? trace_bytes_of(directory, host->second) : 0;
}

// The node's limit, or what is left of its equal share of the job's after `used` bytes of earlier steps.
void DrainWorker::set_trace_limit(uint64_t used) {
  uint64_t nodes = std::max(1u, number_in(info_.contains("job_nodes") ? info_["job_nodes"] : info_["nodes"]));
  uint64_t share = std::max(uint64_t{1}, (settings_.max_job_mib << 20) / nodes);
  trace_limit_ = settings_.max_trace_mib << 20;
  limit_detail_ = "max_trace_mib=" + std::to_string(settings_.max_trace_mib);
  uint64_t left = share > used ? share - used : 1;
  if (left >= trace_limit_) return;
  trace_limit_ = left;
  limit_detail_ = "max_job_mib=" + std::to_string(settings_.max_job_mib) + " shared by " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
  if (used != 0) limit_detail_ += ", of which earlier steps have used " + std::to_string(used >> 10) + " KiB here";
}

// Header, Run, Node, CallTable: once per life of a drainer.
void DrainWorker::write_head() {
  v1::Packet packet;
  v1::Header *header = packet.mutable_header();
  header->set_format_major(kFormatMajor);
  header->set_format_minor(kFormatMinor);
  header->set_tool_version(PACKAGE_VERSION);
  header->set_stream_id(stream_id_);
  header->set_mode(settings_.mode == Mode::kTrace ? v1::Header::MODE_TRACE : v1::Header::MODE_SUMMARY);
  char text[8192];
  if (format_settings(settings_, text, sizeof text)) header->set_settings(utf8_text(text));
  writer_->write(packet);
  writer_->write(run_packet());
  if (!node_.has_node()) *node_.mutable_node() = probe_node(Probe(options_.probe_root));
  writer_->write(node_packet());
  *packet.mutable_call_table() = call_table_;
  writer_->write(packet);
}

void DrainWorker::write_losses(uint32_t process, LossCounts *losses) {
  for (const auto &[reason, entry] : losses->now) {
    auto written = losses->written.find(reason);
    if (is_head_written_ && written != losses->written.end() && written->second == entry) continue;
    v1::Packet packet;
    packet.mutable_loss()->set_process(process);
    packet.mutable_loss()->set_reason(reason);
    packet.mutable_loss()->set_count(entry.count);
    packet.mutable_loss()->set_ticks(entry.ticks);
    if (reason == kWriteError) packet.mutable_loss()->set_detail(utf8_text(write_error_));
    if (reason == kTraceLimit) packet.mutable_loss()->set_detail(limit_detail_);
    if (reason == kRefusedProcess) packet.mutable_loss()->set_detail(std::strerror(static_cast<int>(state_->refusal.load())));
    writer_->write(packet);
  }
}

void DrainWorker::write_process(FollowedProcess *process, bool with_summaries) {
  if (process->is_changed || !process->is_described) writer_->write(process->process_packet());
  v1::Packet packet;
  for (const std::string &definition : process->definitions)
    if (packet.ParseFromString(definition)) writer_->write(packet);
  for (const auto &ring : process->rings) {
    if (is_over_limit_) break;
    size_t from = 0;
    for (const FollowedRing::Part &part : ring->parts) {
      writer_->write_events(process->id(), part.thread, std::span(ring->rows).subspan(from, part.end - from));
      from = part.end;
    }
    for (const v1::Packet &samples : ring->samples) writer_->write(samples);
  }
  if (with_summaries && !process->summary.empty()) {
    *packet.mutable_summary() = process->summary.to_packet(process->id());
    writer_->write(packet);
  }
  write_losses(process->id(), &process->losses);
}

// Rows and samples of the batch as lost for `reason`; `sign` -1 takes that back. False if it has none.
bool DrainWorker::lose_batch(const char *reason, int sign) {
  bool has_rows = false;
  for (const auto &process : follower_.processes()) {
    uint64_t count = 0;
    for (const auto &ring : process->rings) count += ring->rows.size() + ring->samples.size();
    if (count == 0) continue;
    process->lose(reason, sign > 0 ? count : -count);
    process->count_losses();
    has_rows = true;
  }
  return has_rows;
}

// A record of what was just written, or will be, for a successor; no record if the spool cannot hold it,
// because an older one would make a successor cut the file back.
void DrainWorker::save_commit(const CommitRecord &record, bool with_summaries) {
  if (save_checkpoint(*spool_, record.slot_after, follower_, with_summaries) &&
      spool_->write_text(kCommitName, record.serialize()))
    return;
  spool_->remove_file(kCommitName);
  losses_.add(kJournal, 1);
}

// Puts the batch into the file as one step. False if the file could not take it.
bool DrainWorker::try_write(bool with_summaries) {
  bool is_retry = !write_error_.empty();
  if (is_retry && !with_summaries && monotonic_ns() - last_try_ns_ < kRetryNs) return false;
  last_try_ns_ = monotonic_ns();
  try {
    open_output();
    if (!is_head_written_) write_head();
    bool wants_anchors = settings_.mode == Mode::kTrace || with_summaries || !is_head_written_ || anchors_.size() >= kFewAnchors;
    anchors_written_ = wants_anchors ? anchors_.size() : 0;
    if (anchors_written_ != 0) {
      v1::Packet packet;
      for (const ClockAnchor &anchor : anchors_) add_anchor(anchor, follower_.clock(), packet.mutable_clock_anchors());
      writer_->write(packet);
    }
    v1::Packet packet;
    for (size_t i = node_definitions_written_; i < node_definitions_.size(); i++)
      if (packet.ParseFromString(node_definitions_[i])) writer_->write(packet);
    is_over_limit_ = is_over_limit_ || output_.size() >= trace_limit_;
    if (is_over_limit_) lose_batch(kTraceLimit, 1);
    for (const auto &process : follower_.processes()) write_process(process.get(), with_summaries);
    write_losses(0, &losses_);
    writer_->flush();
    save_commit({output_.path(), output_.inode(), output_.size(), output_.size() + output_.pending_bytes(), slot_, 1 - slot_, true, follower_.tails()},
                !with_summaries);
    output_.commit();
    return true;
  } catch (const Error &error) {
    if (is_over_limit_) lose_batch(kTraceLimit, -1);
    output_.discard();
    writer_.reset();  // its index would name frames that are not there
    if (write_error_.empty() && !options_.gives_up)
      fprintf(stderr, "slurmscope: %s; the application goes on, its summary is kept in memory\n", error.what());
    write_error_ = error.what();
    return false;
  }
}

// Everything that was written is in the file.
void DrainWorker::confirm(bool with_summaries) {
  is_head_written_ = has_written_ = true;
  if (has_kept_commit_) spool_->remove_file(kKeptCommitName);
  has_kept_commit_ = false;
  write_error_.clear();
  anchors_.erase(anchors_.begin(), anchors_.begin() + static_cast<ptrdiff_t>(anchors_written_));
  node_definitions_written_ = node_definitions_.size();
  losses_.written = losses_.now;
  for (const auto &process : follower_.processes()) {
    process->is_changed = false;
    process->is_described = true;
    process->definitions.clear();
    process->losses.written = process->losses.now;
    if (with_summaries) process->summary.clear_counts();
  }
  if (with_summaries) last_summary_ns_ = monotonic_ns();
}

// The summaries are safe on the spool, the rings may go on.
void DrainWorker::count_unwritten() {
  if (lose_batch(kWriteError, 1)) lost_why_ = write_error_ + "; the time line lacks the calls of that time, the summary has them";
  save_commit({output_.path(), output_.inode(), output_.size(), output_.size(), slot_, 1 - slot_, false, follower_.tails()}, true);
}

// What was to be written is in the rings still. If that was the first batch, it is as if this worker had never been.
void DrainWorker::withdraw() {
  if (has_written_) return;
  output_.remove_created();
  if (has_kept_commit_) spool_->restore_file(kKeptCommitName, kCommitName);
  else spool_->remove_file(kCommitName);
}

void DrainWorker::write_batch(bool with_summaries) {
  for (const std::string &complaint : follower_.take_complaints()) note(complaint);
  if (!journal_.flush()) losses_.add(kJournal, 1);
  if (try_write(with_summaries)) {
    confirm(with_summaries);
  } else if (options_.gives_up) {
    withdraw();
    throw Error(write_error_);
  } else {
    count_unwritten();
  }
  slot_ = 1 - slot_;
  follower_.clear_batch();
  follower_.release();
  last_commit_ns_ = monotonic_ns();
}

void DrainWorker::write_end(bool is_clean, const std::string &detail) {
  if (!write_error_.empty() || !writer_) return;
  try {
    v1::Packet packet = node_packet();  // the rate is known better by now
    writer_->write(packet);
    packet.mutable_stream_end()->set_clean(is_clean);
    packet.mutable_stream_end()->set_ticks(ticks_now(follower_.clock()));
    packet.mutable_stream_end()->set_detail(detail);
    writer_->write(packet);
    writer_->finish();
    output_.commit();
    output_.close();
  } catch (const Error &error) {
    write_error_ = error.what();
  }
}

}  // namespace slurmscope
