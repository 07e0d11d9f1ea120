// Rounds, waiting and the end. What is written is in drain_output.cc. See drain_worker.h.
#include "profiler/drain/drain_worker.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "proto/error.h"
#include "proto/version.h"
#include "profiler/drain/checkpoint.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kCommitEvery = kSecond;
constexpr uint64_t kSummaryEvery = 10 * kSecond;
constexpr uint64_t kSummaryEveryQuiet = 60 * kSecond;  // summary mode: nothing else grows the file
constexpr uint64_t kStarterGoneAfter = 2 * kSecond;
constexpr uint64_t kAnchorEvery = kSecond;
constexpr size_t kManyAnchors = 60;
constexpr int kHeartbeatMs = 200;
constexpr int kAwaitExitsMs = 500;
constexpr const char kBegunTrace[] = "begun trace";  // the file that a predecessor wrote to is gone

// A futex cannot be waited for together with a descriptor, so the spool's notifications come as SIGIO. The
// handler adds to the futex: a notification just before the wait ends it as well.
std::atomic<DrainState *> listening_state{nullptr};
void take_notification(int) {
  if (DrainState *state = listening_state.load(std::memory_order_relaxed)) state->wake.fetch_add(1, std::memory_order_seq_cst);
}
}  // namespace

DrainWorker::DrainWorker(const Spool *spool, Options options)
    : spool_(spool), options_(std::move(options)), info_(spool->step_info()), roles_(CallRoles::built_in(&call_table_)),
      journal_(spool), follower_(spool, &journal_, &roles_) {
  char error[256];
  if (auto text = info_.find("settings"); text != info_.end()) parse_settings(text->second.c_str(), &settings_, error, sizeof error);
  if (!options_.output.empty()) info_["output"] = options_.output;
  output_.set_group(settings_.group);
  map_state();
  resume();
  take_anchor();
  last_commit_ns_ = last_summary_ns_ = monotonic_ns();
}

DrainWorker::~DrainWorker() {
  listening_state.store(nullptr);
  if (state_ != nullptr) munmap(state_, sizeof *state_);
}

// The page that the producers look at. Made by the first worker, taken over by the next.
void DrainWorker::map_state() {
  Descriptor file = spool_->open_file(kDrainFileName, O_RDWR | O_CREAT);
  if (!file || ftruncate(file.get(), sizeof(DrainState)) != 0)
    throw Error("cannot make " + spool_->path() + "/" + kDrainFileName + ": " + std::strerror(errno));
  void *memory = mmap(nullptr, sizeof(DrainState), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw Error("cannot map " + spool_->path() + "/" + kDrainFileName + ": " + std::strerror(errno));
  state_ = static_cast<DrainState *>(memory);
  state_->magic = kDrainMagic;
  state_->version = kRingVersion;
  state_->pid.store(static_cast<uint32_t>(getpid()));
  state_->gone.store(0);
  state_->sleeping.store(0);
  state_->heartbeat.store(monotonic_ns());
  state_->ready.store(1, std::memory_order_release);
}

// Takes up what a predecessor left, if there was one.
void DrainWorker::resume() {
  uint32_t generation = 0;
  auto visit = [&](Journal::Kind kind, std::string_view content) {
    if (kind == Journal::Kind::kStream && content.size() == sizeof stream_id_) {
      std::memcpy(&stream_id_, content.data(), sizeof stream_id_);
      follower_.set_generation(++generation);
    } else {
      follower_.replay(kind, content);
    }
  };
  if (!journal_.open(visit)) note("the spool cannot hold a journal: a restart of the drainer would lose definitions");
  if (stream_id_ == 0 && getrandom(&stream_id_, sizeof stream_id_, GRND_NONBLOCK) != sizeof stream_id_)
    stream_id_ = monotonic_ns() ^ static_cast<uint64_t>(getpid()) << 40;
  journal_.add(Journal::Kind::kStream, {reinterpret_cast<const char *>(&stream_id_), sizeof stream_id_});
  follower_.set_generation(generation);
  journal_.flush();

  has_kept_commit_ = options_.gives_up && spool_->keep_file(kCommitName, kKeptCommitName);
  CommitRecord record = CommitRecord::parse(spool_->read_text(kCommitName));
  if (record.file.empty() && record.tails.empty()) return;
  bool is_committed = !record.is_pending;
  if (!record.file.empty()) reopen_output(record, &is_committed);
  slot_ = is_committed ? record.slot_after : record.slot_before;
  load_checkpoint(*spool_, slot_, &follower_);
  if (is_committed) follower_.set_tails(record.tails);
  note("the drainer was restarted");
}

// Goes on in the file that a predecessor began, or in a copy of it where the caller wants the trace.
void DrainWorker::reopen_output(const CommitRecord &record, bool *is_committed) {
  struct stat status;
  bool is_there = stat(record.file.c_str(), &status) == 0 && status.st_ino == record.inode;
  uint64_t size = is_there ? static_cast<uint64_t>(status.st_size) : 0;
  *is_committed |= size >= record.size_after;
  uint64_t begun = *is_committed ? record.size_after : record.size_before;
  uint64_t all = job_bytes(info_["output"]);
  set_trace_limit(all > size ? all - size : 0);
  try {
    if (is_there && size < begun) throw Error("trace " + record.file + " was cut");
    if (options_.output.empty()) output_.reopen(record.file, record.inode, begun);
    else output_.copy(record.file, record.inode, begun, options_.output);
    if (!output_.group_trouble().empty()) note(output_.group_trouble());
  } catch (const Error &error) {
    if (options_.gives_up && begun != 0 && size >= begun) throw;
    write_error_ = error.what();  // a new file is made; what the old one has stays in it
    if (begun == 0 && (is_there || record.size_after == UINT64_MAX)) return;  // nothing was in it
    losses_.add(kBegunTrace, 1);
    lost_why_ = write_error_ + "; what was written to it before is not in this file";
    note(lost_why_);
  }
}

std::vector<uint32_t> DrainWorker::running() const {
  std::vector<uint32_t> pids;
  for (const auto &process : follower_.processes())
    if (!process->is_gone) pids.push_back(process->file().pid);
  return pids;
}

void DrainWorker::note(const std::string &text) {
  v1::Packet packet;
  packet.mutable_note()->set_ticks(ticks_now(follower_.clock()));
  packet.mutable_note()->set_text(utf8_text(text));
  node_definitions_.push_back(packet.SerializeAsString());
}

void DrainWorker::take_anchor() {
  last_anchor_ = read_anchor();
  if (first_anchor_.monotonic == 0) first_anchor_ = last_anchor_;
  last_anchor_ns_ = monotonic_ns();
  anchors_.push_back(last_anchor_);
  // As long as they cannot be written: every other one of the older half.
  if (anchors_.size() >= 4096)
    for (size_t i = 0; i < 1024; i++) anchors_.erase(anchors_.begin() + static_cast<ptrdiff_t>(i) + 1);
}

void DrainWorker::take_tasks() {
  for (const TaskLine &line : spool_->read_tasks(&tasks_offset_)) {
    v1::Packet packet;
    packet.mutable_task()->set_task(line.task);
    packet.mutable_task()->set_pid(line.pid);
    packet.mutable_task()->set_wait_status(line.status);
    packet.mutable_task()->set_ticks(ticks_now(follower_.clock()));
    node_definitions_.push_back(packet.SerializeAsString());
    for (const auto &process : follower_.processes()) {
      if (process->file().pid != line.pid) continue;
      process->wait_status = line.status;
      process->end_source = "slurm";
      process->is_changed = true;
    }
  }
}

bool DrainWorker::is_starter_gone() {
  if (options_.starter_pid == 0) return false;
  if (kill(static_cast<pid_t>(options_.starter_pid), 0) == 0 || errno != ESRCH || !follower_.are_all_gone()) {
    starter_gone_ns_ = 0;
    return false;
  }
  if (starter_gone_ns_ == 0) starter_gone_ns_ = monotonic_ns();
  return monotonic_ns() - starter_gone_ns_ > kStarterGoneAfter;
}

bool DrainWorker::has_ended() {
  has_end_ = has_end_ || spool_->exists(kEndName);
  return has_end_ || options_.ends_now || is_starter_gone();
}

// The step has ended, but its processes may still be on their way out: their end belongs to the trace.
void DrainWorker::await_exits() {
  uint64_t until = monotonic_ns() + uint64_t{kAwaitExitsMs} * 1'000'000;
  for (;;) {
    std::vector<pollfd> waits;
    for (const auto &process : follower_.processes())
      if (process->watch.descriptor() >= 0 && process->watch.is_alive()) waits.push_back({process->watch.descriptor(), POLLIN, 0});
    uint64_t now = monotonic_ns();
    if (waits.empty() || now >= until) return;
    if (poll(waits.data(), waits.size(), static_cast<int>((until - now) / 1'000'000) + 1) <= 0) return;
  }
}

bool DrainWorker::is_due(bool is_changed) const {
  uint64_t age = monotonic_ns() - last_commit_ns_;
  return is_cut_ || follower_.is_pressing() || (age >= kCommitEvery && (is_changed || follower_.has_backlog() || anchors_.size() >= kManyAnchors));
}

bool DrainWorker::round() {
  if (is_done_) return false;
  seen_wake_ = state_->wake.load(std::memory_order_acquire);
  state_->heartbeat.store(monotonic_ns(), std::memory_order_release);
  bool is_ending = has_ended();  // before the rings are looked at: whatever was written before it counts
  follower_.discover();
  if (is_ending) {
    end();
    return false;
  }
  bool is_changed = follower_.watch_processes();
  take_tasks();
  if (monotonic_ns() - last_anchor_ns_ >= kAnchorEvery) take_anchor();
  is_changed |= std::any_of(follower_.processes().begin(), follower_.processes().end(),
                            [](const auto &process) { return process->is_changed; });
  if (follower_.has_processes() && is_due(is_changed)) {
    uint64_t interval = settings_.mode == Mode::kTrace ? kSummaryEvery : kSummaryEveryQuiet;
    is_cut_ = follower_.collect(settings_.mode == Mode::kTrace, false);
    write_batch(monotonic_ns() - last_summary_ns_ >= interval);
  }
  return true;
}

void DrainWorker::wait(int milliseconds) {
  if (is_cut_ || follower_.is_pressing()) return;
  state_->sleeping.store(1, std::memory_order_seq_cst);
  // A producer that added to `wake` since seen_wake_ was read makes this return at once.
  timespec timeout{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  syscall(SYS_futex, &state_->wake, FUTEX_WAIT, seen_wake_, &timeout, nullptr, 0);
  state_->sleeping.store(0, std::memory_order_seq_cst);
}

void DrainWorker::listen() {
  int notifications = follower_.notifications();
  if (notifications < 0) return;
  listening_state.store(state_);
  struct sigaction action {};
  action.sa_handler = take_notification;
  action.sa_flags = SA_RESTART;
  sigaction(SIGIO, &action, nullptr);
  fcntl(notifications, F_SETOWN, getpid());
  fcntl(notifications, F_SETFL, fcntl(notifications, F_GETFL) | O_ASYNC);
}

std::string DrainWorker::run() {
  listen();
  while (round()) wait(kHeartbeatMs);
  return trouble();
}

void DrainWorker::end() {
  if (!options_.ends_now) await_exits();
  follower_.watch_processes();
  take_tasks();
  bool keeps_rows = settings_.mode == Mode::kTrace;
  std::string running;
  // Living processes may go on writing: what is there now is taken, not more.
  for (int batches = 0; follower_.has_processes() && batches < 1000; batches++) {
    state_->heartbeat.store(monotonic_ns(), std::memory_order_release);
    bool is_cut = follower_.collect(keeps_rows, true);
    bool is_last = !is_cut && (batches > 0 || !follower_.has_backlog());
    if (is_last) {
      losses_.set(kRefusedProcess, state_->refused.load());
      follower_.watch_processes();  // wait statuses that came late
      take_anchor();
      for (uint32_t pid : this->running()) running += (running.empty() ? "still running: pid " : ", ") + std::to_string(pid);
      if (!running.empty() && has_end_) note("what is done after the step's end is not recorded; " + running);
    }
    write_batch(is_last);
    if (is_last) break;
  }
  if (options_.ends_now) running = "salvaged: the drainer had died" + (running.empty() ? "" : "; " + running);
  else if (!has_end_) running = "the step's end was not announced";
  if (follower_.has_processes()) write_end(has_end_ && !options_.ends_now, running);
  state_->gone.store(1, std::memory_order_release);
  is_done_ = true;
}

// How many processes could not make their file, and why; "" if all could.
std::string DrainWorker::refusals() const {
  uint32_t refused = state_->refused.load();
  if (refused == 0) return "";
  return std::to_string(refused) + (refused == 1 ? " process" : " processes") + " could not be recorded in " + spool_->path() + ": " +
         std::strerror(static_cast<int>(state_->refusal.load()));
}

// What kept processes or rows out of the trace; "" if nothing did. Of a salvage: what another one could still save.
std::string DrainWorker::trouble() const {
  if (!write_error_.empty() || options_.gives_up) return write_error_;
  if (!lost_why_.empty()) return lost_why_;
  if (std::string refused = refusals(); !refused.empty()) return refused;
  struct stat status;
  if (fstat(spool_->directory(), &status) == 0 && status.st_nlink == 0)
    return "the spool directory " + spool_->path() + " was deleted while the step ran";
  return "";
}

}  // namespace slurmscope
