// Finding files and watching processes. The batches are in follower_batch.cc. See follower.h.
#include "profiler/drain/follower.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "profiler/drain/clock_reader.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {
constexpr uint64_t kReadFilesEveryNs = 100'000'000;
constexpr uint64_t kAwaitStatusNs = 5'000'000'000;  // of a process that has ended
}  // namespace

Follower::Follower(const Spool *spool, Journal *journal, const CallRoles *roles)
    : spool_(spool), journal_(journal), roles_(roles), inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  std::string path = "/proc/self/fd/" + std::to_string(spool->directory());
  if (inotify_ && inotify_add_watch(inotify_.get(), path.c_str(), IN_CREATE | IN_MOVED_TO) < 0) inotify_ = Descriptor();
}

bool Follower::add_process(const std::string &name, bool is_replayed) {
  ProcessFile file;
  bool is_invalid;
  if (!read_process_file(*spool_, name, &file, &is_invalid)) {
    if (!is_invalid && !is_replayed) return false;  // not ready yet
    if (!is_replayed) {
      refused_.insert(name);
      complaints_.push_back("not followed: " + utf8_text(name) + " is no valid process file");
      return false;
    }
    std::memset(static_cast<void *>(&file), 0, sizeof file);  // keeps the ids of the others
    file.clock = clock_;
  }
  if (processes_.empty()) clock_ = file.clock;
  if (file.clock != clock_) {
    // Their times would not be comparable; two clocks on one node cannot be.
    refused_.insert(name);
    complaints_.push_back("not followed: " + utf8_text(name) + " uses another clock than the first process");
    return false;
  }
  auto process = std::make_unique<FollowedProcess>(static_cast<uint32_t>(processes_.size()) + 1, name, file, roles_);
  process->first_sample_path = FollowedProcess::kFirstSamplePath + generation_ * FollowedProcess::kMaxSamplePaths;
  process->refresh_modules();
  by_name_[name] = process.get();
  known_.insert(name);
  if (!is_replayed) {
    journal_->add(Journal::Kind::kProcess, name);
    // A successor must not measure again: the wall clock may have been set by then.
    if (ClockShift shift = read_clock_shift(file); shift.error_ns != 0) {
      struct { uint32_t id, zero; ClockShift shift; } record{process->id(), 0, shift};
      journal_->add(Journal::Kind::kClockShift, {reinterpret_cast<const char *>(&record), sizeof record});
      process->set_clock_shift(shift);
    }
  }
  processes_.push_back(std::move(process));
  update_world(processes_.back().get());
  return true;
}

bool Follower::add_ring(const std::string &name, bool is_replayed) {
  std::optional<RingName> parsed = parse_ring_name(name);
  auto owner = by_name_.find(kProcessFilePrefix + std::to_string(parsed->pid) + "-" + std::to_string(parsed->number));
  if (owner == by_name_.end()) return false;  // its process comes with the next look
  bool is_invalid;
  std::unique_ptr<RingView> view = RingView::open(*spool_, name, &is_invalid);
  if (!view && !is_replayed) {
    if (is_invalid) {
      refused_.insert(name);
      complaints_.push_back("not followed: " + utf8_text(name) + " is no valid ring file");
    }
    return false;
  }
  auto ring = std::make_unique<FollowedRing>();
  ring->name = name;
  ring->journal_index = static_cast<uint32_t>(rings_.size());
  ring->process = owner->second;
  ring->view = std::move(view);
  // The heads of this round were read before: what this ring holds by now may be what their events depend on.
  if (ring->view) ring->head = ring->view->read_head();
  rings_.push_back(ring.get());
  known_.insert(name);
  if (!is_replayed) journal_->add(Journal::Kind::kRing, name);
  owner->second->rings.push_back(std::move(ring));
  return true;
}

void Follower::replay(Journal::Kind kind, std::string_view content) {
  std::string name(content);
  if (kind == Journal::Kind::kProcess && parse_process_name(name) && !known_.contains(name)) {
    add_process(name, true);
  } else if (kind == Journal::Kind::kRing && parse_ring_name(name) && !known_.contains(name)) {
    add_ring(name, true);
  } else if (kind == Journal::Kind::kClockShift && content.size() == 8 + sizeof(ClockShift)) {
    uint32_t id;
    ClockShift shift;
    std::memcpy(&id, content.data(), sizeof id);
    std::memcpy(&shift, content.data() + 8, sizeof shift);
    if (FollowedProcess *process = find_process(id)) process->set_clock_shift(shift);
  } else if (kind == Journal::Kind::kDefinition && content.size() >= 8 + sizeof(DefinitionHeader)) {
    uint32_t index;
    std::memcpy(&index, content.data(), sizeof index);
    std::vector<uint64_t> aligned((content.size() - 8 + 7) / 8);
    std::memcpy(aligned.data(), content.data() + 8, content.size() - 8);
    auto record = reinterpret_cast<const DefinitionHeader *>(aligned.data());
    if (index < rings_.size() && record->size == content.size() - 8) rings_[index]->process->define(record, rings_[index]);
  }
}

bool Follower::discover() {
  if (inotify_) {
    char events[16384];
    while (read(inotify_.get(), events, sizeof events) > 0) must_scan_ = true;
    if (!must_scan_) return false;
  }
  std::optional<std::vector<std::string>> names = spool_->names();
  must_scan_ = !names;
  if (!names) return false;
  // In the order in which they appeared, as far as the names tell; processes before their rings.
  std::sort(names->begin(), names->end());
  bool has_new = false;
  for (bool wants_ring : {false, true}) {
    for (const std::string &name : *names) {
      bool is_wanted = wants_ring ? parse_ring_name(name).has_value() : parse_process_name(name).has_value();
      if (!is_wanted || known_.contains(name) || refused_.contains(name)) continue;
      bool is_added = wants_ring ? add_ring(name, false) : add_process(name, false);
      has_new |= is_added;
      if (!is_added && !refused_.contains(name)) must_scan_ = true;  // not ready: look again
    }
  }
  return has_new;
}

void Follower::update_world(FollowedProcess *process) {
  const ProcessFile &file = process->file();
  if (process->world != nullptr || file.mpi_ready.load(std::memory_order_relaxed) == 0 || file.world_rank < 0) return;
  std::unique_ptr<LocalRanks> &world = worlds_[std::string(file.world_id) + "/" + std::to_string(file.world_size)];
  if (!world) world = std::make_unique<LocalRanks>();
  world->add(file.world_rank);
  world->size = std::max(world->size, file.local_size);
  process->world = world.get();
  process->resolver.set_world(file.world_rank, world.get());
}

bool Follower::watch_processes() {
  bool is_changed = false;
  uint64_t now = monotonic_ns();
  bool reads_files = now - files_read_ns_ >= kReadFilesEveryNs;  // rounds come by the hundred when rings fill
  if (reads_files) files_read_ns_ = now;
  for (const auto &process : processes_) {
    if (process->is_gone) {
      // The status may only appear when its parent has reaped it.
      if (!process->watch.is_watching()) continue;
      if (!process->wait_status && process->take_wait_status()) is_changed = true;
      if (process->wait_status || now - process->gone_ns > kAwaitStatusNs) process->watch.stop();
      continue;
    }
    bool was_alive = process->watch.is_alive();  // before its file is read: the last news are in it
    if (was_alive && !reads_files && process->mpi_ready_ns != 0) continue;
    ProcessFile file;
    bool is_invalid;
    if (read_process_file(*spool_, process->name(), &file, &is_invalid) && process->update(file)) {
      update_world(process.get());
      is_changed = true;
    }
    if (!was_alive) {
      process->is_gone = process->is_changed = is_changed = true;
      process->end_ticks = ticks_now(clock_);
      process->gone_ns = now;
      process->take_wait_status();
      must_scan_ = true;  // a ring it made just before
    }
  }
  return is_changed;
}

bool Follower::is_pressing() const {
  for (const FollowedRing *ring : rings_)
    if (ring->view && ring->view->is_half_full()) return true;
  return false;
}

bool Follower::has_backlog(const FollowedRing &ring) {
  return ring.view && (ring.view->has_backlog() || (ring.process->is_gone && ring.view->has_open_polls()));
}

bool Follower::has_backlog() const {
  return std::any_of(rings_.begin(), rings_.end(), [](const FollowedRing *ring) { return has_backlog(*ring); });
}

bool Follower::are_all_gone() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const auto &process) { return process->is_gone; });
}

std::map<std::string, RingView::Tails> Follower::tails() const {
  std::map<std::string, RingView::Tails> tails;
  for (const FollowedRing *ring : rings_)
    if (ring->view) tails[ring->name] = ring->view->taken();
  return tails;
}

void Follower::set_tails(const std::map<std::string, RingView::Tails> &tails) {
  for (FollowedRing *ring : rings_) {
    auto found = tails.find(ring->name);
    if (ring->view && found != tails.end()) ring->view->set_taken(found->second);
  }
}

std::vector<std::string> Follower::take_complaints() { return std::exchange(complaints_, {}); }

}  // namespace slurmscope
