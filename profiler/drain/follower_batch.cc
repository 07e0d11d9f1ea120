// One batch: from heads to rows. See follower.h.
#include <algorithm>
#include <cstring>
#include <queue>
#include <unistd.h>

#include "profiler/drain/clock_reader.h"
#include "profiler/drain/follower.h"

namespace slurmscope {
namespace {
constexpr uint64_t kHoldNs = 2'000'000'000;
constexpr size_t kKeptRows = 1 << 18;  // of all rings together, between batches

// Not a part of the event before it.
bool is_whole_event(EventKind kind) { return kind == EventKind::kCall || kind == EventKind::kPolls; }
}

// Where a peer lives is known once all local ranks have left MPI_Init: the first events of those that
// are through earlier wait for the others, if there is room.
bool Follower::is_held(const FollowedProcess &process) const {
  if (process.is_gone || process.mpi_ready_ns == 0 || process.world == nullptr) return false;
  if (process.world->size <= 0 || process.world->is_complete()) return false;
  if (monotonic_ns() - process.mpi_ready_ns > kHoldNs) return false;
  return std::none_of(process.rings.begin(), process.rings.end(),
                      [](const auto &ring) { return ring->view && ring->view->is_half_full(); });
}

void Follower::take_definitions(FollowedProcess *process) {
  for (const auto &ring : process->rings) {
    if (!ring->view) continue;
    FollowedRing *owner = ring.get();
    bool is_broken = owner->view->take_definitions([&](const DefinitionHeader *record) {
      journal_->add_definition(owner->journal_index, record, record->size);
      if (!process->define(record, owner)) process->lose("definition", 1);
    });
    is_broken |= owner->view->take_samples([&](const DefinitionHeader *record) { process->sample(record, owner); });
    if (is_broken) complaints_.push_back("damaged records in " + owner->name);
  }
}

// The next event, what belongs to it, and all that follow in this ring and ended not later than `until`.
uint64_t Follower::take_group(FollowedProcess *process, FollowedRing *ring, bool keeps_rows, uint64_t until, uint64_t limit) {
  RingView &view = *ring->view;
  uint64_t position = view.position(), taken = 0;
  while (position != ring->head) {
    Event event = view.event(position);
    event.start = process->node_ticks(event.start);
    event.end = process->node_ticks(event.end);
    if (taken != 0 && is_whole_event(event.kind) && (event.end > until || taken >= limit)) break;
    TraceEvent row = process->resolver.resolve(event, &ring->context);
    process->summary.add(row);
    if (keeps_rows) {
      // Not before the use's time: a thread that ends its ring's use does so between two calls.
      uint32_t thread = ring->uses.size() <= 1 ? (ring->uses.empty() ? 0 : ring->uses[0].thread) : ring->thread_at(event.end);
      if (ring->parts.empty() || ring->parts.back().thread != thread) ring->parts.push_back({thread, 0});
      ring->rows.push_back(row);
      ring->parts.back().end = ring->rows.size();
    }
    position++;
    taken++;
  }
  view.take_events_to(position);
  return taken;
}

uint64_t Follower::take_events(FollowedProcess *process, bool keeps_rows, bool is_last, uint64_t limit) {
  std::vector<FollowedRing *> active;
  bool is_pressed = is_last || process->is_gone;
  size_t rings = 0;
  for (const auto &ring : process->rings) {
    if (!ring->view) continue;
    rings++;
    if (ring->view->position() == ring->head) continue;
    active.push_back(ring.get());
    is_pressed |= ring->view->is_half_full();
  }
  if (active.empty()) return 0;
  if (rings == 1) return take_group(process, active[0], keeps_rows, UINT64_MAX, limit);
  // What ended before the heads were read has everything it depends on below the heads; the rest waits.
  uint64_t horizon = is_pressed ? UINT64_MAX : process->horizon;
  using Next = std::pair<uint64_t, size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  auto next_end = [process](FollowedRing *ring) { return process->node_ticks(ring->view->end_ticks(ring->view->position())); };
  for (size_t i = 0; i < active.size(); i++) queue.push({next_end(active[i]), i});
  uint64_t taken = 0;
  while (!queue.empty() && taken < limit) {
    auto [end, index] = queue.top();
    if (end > horizon) break;
    queue.pop();
    FollowedRing *ring = active[index];
    uint64_t until = std::min(horizon, queue.empty() ? UINT64_MAX : queue.top().first);
    taken += take_group(process, ring, keeps_rows, until, limit - taken);
    if (ring->view->position() != ring->head) queue.push({next_end(ring), index});
  }
  return taken;
}

bool Follower::collect(bool keeps_rows, bool is_last) {
  uint64_t horizon = ticks_now(clock_);
  for (FollowedRing *ring : rings_) {
    if (!ring->view) continue;
    if (ring->process->is_gone) ring->view->publish_open_polls();
    ring->head = ring->view->read_head();
    if (ring->view->take_broken()) complaints_.push_back("damaged events in " + ring->name);
  }
  discover();  // a ring that was made meanwhile may hold definitions that are used in the others
  uint64_t left = kMaxBatchEvents;
  bool is_cut = false;
  size_t number = processes_.size();
  for (size_t i = 0; i < number; i++) {
    FollowedProcess *process = processes_[(first_ + i) % number].get();
    process->horizon = horizon;
    take_definitions(process);
    if (!is_last && is_held(*process)) continue;
    uint64_t taken = left > 0 ? take_events(process, keeps_rows, is_last, left) : 0;
    left -= std::min(left, taken);
    if (left == 0 && !is_cut) {  // whoever comes after this one is served first in the next batch
      is_cut = true;
      first_ = (first_ + i + 1) % number;
    }
    process->count_losses();
  }
  return is_cut;
}

void Follower::clear_batch() {
  size_t kept = 0;
  for (FollowedRing *ring : rings_) {
    ring->rows.clear();
    ring->parts.clear();
    ring->samples.clear();
    // Memory of a few busy rings is worth keeping; that of all the ranks of a large node is not.
    kept += ring->rows.capacity();
    if (kept > kKeptRows) {
      kept -= ring->rows.capacity();
      std::vector<TraceEvent>().swap(ring->rows);
    }
  }
}

void Follower::release() {
  for (FollowedRing *ring : rings_) {
    if (!ring->view) continue;
    ring->view->release(ring->view->taken());
    if (!ring->process->is_gone || has_backlog(*ring)) continue;
    // Its process has ended and left nothing: give the memory back, keep what the counters said.
    FollowedProcess &process = *ring->process;
    process.count_ring_losses(*ring->view);
    ring->view.reset();
    std::vector<TraceEvent>().swap(ring->rows);
    unlinkat(spool_->directory(), ring->name.c_str(), 0);
  }
}

}  // namespace slurmscope
