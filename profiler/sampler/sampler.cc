// The sampler module: counters and call stacks of the recorded threads. See sampler_link.h for who calls
// what and when; profiler/README.md for what it links.
//
// Threading: start_thread(), stop_thread() and stop_process() may run in several threads at once, each on
// its own slot. The tick handler works on its own thread's slot only. Nothing here takes a lock; the
// functions outside of the handler keep errno.
#include "profiler/sampler/sampler_link.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include "profiler/sampler/papi.h"
#include "profiler/sampler/thread_slot.h"
#include "profiler/sampler/timer.h"
#include "proto/version.h"

namespace slurmscope {
namespace {

constexpr uint64_t kCounterIntervalNs = 100000000;  // 10 Hz

const SamplerHost *host;
std::atomic<bool> is_running;
bool takes_stacks, reads_counters;
pid_t first_thread;
std::atomic<uint32_t> refused_threads;
// Sums over threads that have ended, for the last note.
std::atomic<uint64_t> total_taken, total_merged, total_skipped, total_cpu_ns, unsampled_cpu_ns;
std::atomic<uint32_t> unsampled_threads;

class KeptErrno {
 public:
  KeptErrno() : saved_(errno) {}
  ~KeptErrno() { errno = saved_; }

 private:
  int saved_;
};

/// Keeps the tick handler out of its own thread's slot.
class Occupied {
 public:
  explicit Occupied(ThreadSlot *slot) : slot_(slot) {
    slot_->busy.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Occupied() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slot_->busy.store(0, std::memory_order_relaxed);
  }

 private:
  ThreadSlot *slot_;
};

void push_counters(ThreadSlot *slot, int count, bool is_last) {
  if (count == 0) return;
  CounterSample &head = slot->sample.head;
  head.header = {static_cast<uint32_t>(sizeof head + static_cast<size_t>(count) * 8), DefinitionKind::kCounterSample, 0};
  head.time = host->now_ticks();
  head.count = static_cast<uint32_t>(count);
  head.is_last = is_last;
  host->push_sample(&head.header);
}

void push_stack(ThreadSlot *slot, const ucontext_t *context) {
  StackSample &head = slot->stack.head;
  head.time = host->now_ticks();
  bool truncated;
  int depth = host->unwind_stack(context, &slot->unwind, slot->stack.addresses, kMaxStackDepth, &truncated);
  if (depth == 0) return;
  head.header = {static_cast<uint32_t>(sizeof head + static_cast<size_t>(depth) * 8), DefinitionKind::kStackSample, 0};
  head.depth = static_cast<uint32_t>(depth);
  head.truncated = truncated;
  if (host->push_sample(&head.header)) slot->taken.fetch_add(1, std::memory_order_relaxed);
}

void on_tick(ThreadSlot *slot, Tick kind, const ucontext_t *context) {
  if (!is_running.load(std::memory_order_relaxed)) return;
  if (kind == kTickStack) push_stack(slot, context);
  else push_counters(slot, read_thread_counters(&slot->counters, slot->sample.values), false);
}

void note_once(std::atomic<bool> *said, const char *text) {
  if (!said->exchange(true)) host->note(text);
}

void arm(ThreadSlot *slot, Tick kind, uint64_t interval_ns) {
  if (start_ticks(slot, kind, interval_ns)) return;
  static std::atomic<bool> said;
  char text[160];
  snprintf(text, sizeof text, "sampling: no timer for a thread: %m");
  note_once(&said, text);
}

/// Adds the slot's stack ticks to the totals.
void account(ThreadSlot *slot) {
  if (!takes_stacks) return;
  uint64_t now = thread_cpu_ns(slot->tid.load()), used = now > slot->cpu_start_ns ? now - slot->cpu_start_ns : 0;
  uint64_t taken = slot->taken.exchange(0), merged = slot->merged.exchange(0), skipped = slot->skipped.exchange(0);
  slot->cpu_start_ns = now;
  total_taken += taken;
  total_merged += merged;
  total_skipped += skipped;
  total_cpu_ns += used;
  // Ten periods without a single tick: the thread blocks the signal.
  if (taken + merged + skipped == 0 && used * host->settings->sample > 10 * uint64_t{1000000000}) {
    unsampled_threads++;
    unsampled_cpu_ns += used;
  }
}

/// Says how far the number of stacks is from what was asked for.
void note_rate() {
  if (!takes_stacks) return;
  char text[320];
  uint64_t expected = total_cpu_ns / 1000000 * host->settings->sample / 1000, taken = total_taken;
  if (unsampled_threads > 0) {
    snprintf(text, sizeof text, "call stacks: %u threads with %.2f s of CPU time were never sampled (they block signals)",
             unsampled_threads.load(), static_cast<double>(unsampled_cpu_ns.load()) * 1e-9);
    host->note(text);
  }
  uint64_t missed = unsampled_cpu_ns / 1000000 * host->settings->sample / 1000;
  if (expected > missed + 20 && taken * 2 < expected - missed) {
    snprintf(text, sizeof text,
             "call stacks: %llu taken where %llu Hz of CPU time means about %llu; the kernel merged %llu ticks, %llu fell into the sampler",
             static_cast<unsigned long long>(taken), static_cast<unsigned long long>(host->settings->sample),
             static_cast<unsigned long long>(expected - missed), static_cast<unsigned long long>(total_merged.load()),
             static_cast<unsigned long long>(total_skipped.load()));
    host->note(text);
  }
}

void yield_signal() {
  for (uint32_t index = 0; ThreadSlot *slot = slot_at(index); index++) stop_ticks(slot);
  static std::atomic<bool> said;
  note_once(&said, "sampling: ended, because the program took the signal that it used");
}

/// Last values of the calling thread.
void finish_thread(ThreadSlot *slot) {
  Occupied occupied(slot);
  stop_ticks(slot);
  if (reads_counters) {
    int count = read_thread_counters(&slot->counters, slot->sample.values);
    if (slot->is_first) count = read_process_counters(count, slot->sample.values);
    push_counters(slot, count, true);
    stop_thread_counters(&slot->counters);
  }
  account(slot);
}

bool start_process(const SamplerHost *sampler_host) {
  KeptErrno kept;
  if (sampler_host->version != kRingVersion) return false;
  host = sampler_host;
  const char *reason = nullptr;
  char text[256];
  takes_stacks = host->settings->sample > 0;
  if (takes_stacks && !host->can_unwind(&reason)) {
    snprintf(text, sizeof text, "call stacks: %s", reason);
    host->note(text);
    takes_stacks = false;
  }
  reads_counters = start_counters(host);
  if ((takes_stacks || reads_counters) && !install_ticks(on_tick, &reason)) {
    snprintf(text, sizeof text, "sampling: %s", reason);
    host->note(text);
    takes_stacks = false;
  }
  first_thread = gettid();
  is_running.store(takes_stacks || reads_counters);
  return is_running;
}

void start_thread() {
  KeptErrno kept;
  if (!is_running) return;
  if (!owns_tick_signal()) return yield_signal();
  if (find_slot() != nullptr) return;
  ThreadSlot *slot = claim_slot();
  if (slot == nullptr) {
    refused_threads++;
    return;
  }
  Occupied occupied(slot);
  slot->is_first = gettid() == first_thread;
  slot->cpu_start_ns = thread_cpu_ns(gettid());
  slot->taken = slot->merged = slot->skipped = 0;
  memset(slot->unwind.cache, 0, sizeof slot->unwind.cache);
  if (reads_counters && start_thread_counters(&slot->counters)) arm(slot, kTickCounters, kCounterIntervalNs);
  if (takes_stacks) arm(slot, kTickStack, 1000000000u / host->settings->sample);
}

void stop_thread() {
  KeptErrno kept;
  ThreadSlot *slot = find_slot();
  if (slot == nullptr) return;
  if (is_running) finish_thread(slot);
  slot->tid.store(0);
}

void stop_process() {
  KeptErrno kept;
  if (!is_running.exchange(false)) return;
  if (!owns_tick_signal() && (takes_stacks || reads_counters)) yield_signal();
  ThreadSlot *own = find_slot();
  if (own != nullptr) finish_thread(own);
  for (uint32_t index = 0; ThreadSlot *slot = slot_at(index); index++) {
    if (slot == own || slot->tid.load() == 0) continue;
    stop_ticks(slot);  // their counters keep the values of the last tick
    account(slot);
  }
  stop_counters();
  note_rate();
  if (refused_threads > 0) {
    char text[96];
    snprintf(text, sizeof text, "sampling: %u threads were not sampled: too many", refused_threads.load());
    host->note(text);
  }
}

void forget() {
  KeptErrno kept;
  is_running.store(false);
  forget_ticks();
  forget_counters();
  total_taken = total_merged = total_skipped = total_cpu_ns = unsampled_cpu_ns = 0;
  unsampled_threads = refused_threads = 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SamplerModule slurmscope_sampler = {
    kRingVersion, start_process, start_thread, stop_thread, stop_process, forget};

}  // namespace slurmscope
