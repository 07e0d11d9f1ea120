// The slow paths of the recorder: room in the rings, polls, definitions, losses.
//
// Called through RecorderLink by the inline code of recorder.h, in whatever thread or signal handler
// the application's call was made. No lock, no allocation, no errno; each ring is written by its own
// thread only. Waiting happens in wait_for() alone, and ends when the drainer shows no life.
#include "profiler/preload/recorder.h"

#include <cstdio>
#include <cstring>

#include "profiler/preload/call_paths.h"
#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"

namespace slurmscope {
namespace {

constexpr uint64_t kDeadAfterNs = 5'000'000'000;     // without a heartbeat
constexpr uint64_t kUnreadAfterNs = 10'000'000'000;  // with one, but nothing taken from this ring
constexpr long kPollNs = 50'000;

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

void wake_drain(DrainState *drain) {
  if (thread_local_state()->is_sealed) return;  // it looks by itself, five times a second
  drain->wake.fetch_add(1, std::memory_order_seq_cst);
  if (drain->sleeping.load(std::memory_order_seq_cst) != 0) raw::futex_wake(&drain->wake);
}

DrainState *find_drain() {
  DrainState *drain = process_state.drain.load(std::memory_order_acquire);
  if (drain == nullptr) {
    // Asked for each call that finds its ring full: look for a late drainer now and then only.
    if (process_state.drain_tries.fetch_add(1, std::memory_order_relaxed) % 1024 == 0) map_drain();
    drain = process_state.drain.load(std::memory_order_acquire);
  }
  return drain != nullptr && drain->ready.load(std::memory_order_acquire) ? drain : nullptr;
}

// Waits until `cursor` has room for `needed` of `capacity`. A drainer that lives but does not take from this
// ring (it could not open it, or cannot keep up by far) ends the wait as well: nothing may hold the
// application up for long. The drainer's life is judged by whether its
// heartbeat moves, not by its value: the two processes may live in different time namespaces.
bool wait_for(RingFile *file, RingCursor &cursor, uint64_t head, uint64_t needed, uint64_t capacity) {
  auto has_room = [&] { return head + needed - cursor.tail.load(std::memory_order_acquire) <= capacity; };
  if (has_room()) return true;
  if (thread_local_state()->is_sealed) return false;
  DrainState *drain = find_drain();
  if (drain == nullptr || drain->gone.load(std::memory_order_acquire) != 0) return false;
  uint64_t heartbeat = drain->heartbeat.load(std::memory_order_acquire);
  if (heartbeat == process_state.dead_heartbeat.load(std::memory_order_relaxed)) return false;
  uint64_t tail = cursor.tail.load(std::memory_order_acquire);
  if (tail + 1 == cursor.unread.load(std::memory_order_relaxed)) return false;
  uint64_t start = now_ticks(), alive = monotonic_ns(), moved = alive;
  bool room = false;
  wake_drain(drain);
  for (unsigned round = 0;; round++) {
    if ((room = has_room())) break;
    if (drain->gone.load(std::memory_order_acquire) != 0) break;
    uint64_t beat = drain->heartbeat.load(std::memory_order_acquire), now = monotonic_ns();
    if (beat != heartbeat) {
      heartbeat = beat;
      alive = now;
    } else if (now - alive > kDeadAfterNs) {
      process_state.dead_heartbeat.store(beat, std::memory_order_relaxed);
      break;
    }
    if (uint64_t taken = cursor.tail.load(std::memory_order_acquire); taken != tail) {
      tail = taken;
      moved = now;
    } else if (now - moved > kUnreadAfterNs) {
      cursor.unread.store(tail + 1, std::memory_order_relaxed);
      break;
    }
    if (round < 16) raw::yield();
    else raw::sleep_ns(kPollNs);
    if (round % 64 == 63) wake_drain(drain);
  }
  file->stalls.fetch_add(1, std::memory_order_relaxed);
  file->stall_ticks.fetch_add(now_ticks() - start, std::memory_order_relaxed);
  return room;
}

// Room for one event; sets the next checkpoint. Only for a recorder that is active.
bool find_room(ThreadRecorder *recorder) {
  RingFile *file = recorder->file;
  uint64_t capacity = recorder->event_mask + 1;
  if (!wait_for(file, file->events, recorder->head, 1, capacity)) return false;
  uint64_t tail = file->events.tail.load(std::memory_order_acquire);
  uint64_t used = recorder->head - tail;
  if (used > capacity) used = capacity;  // a broken consumer must not make us run ahead
  if (used < capacity / 2) {
    recorder->checkpoint = recorder->head - used + capacity / 2;
    return true;
  }
  if (DrainState *drain = process_state.drain.load(std::memory_order_acquire)) wake_drain(drain);
  recorder->checkpoint = recorder->head - used + capacity;
  return true;
}

void lose(RingFile *file, LossReason reason) {
  file->lost[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

// Copies a record behind `head` of a byte ring in one piece; pads up to the end of the ring if need be.
// The caller has seen to it that there is room for record and padding.
void append_record(uint8_t *ring, uint64_t bytes, RingCursor &cursor, const DefinitionHeader *record,
                   uint64_t padding) {
  uint64_t head = cursor.head.load(std::memory_order_relaxed), at = head & (bytes - 1);
  if (padding != 0) {
    DefinitionHeader filler = {static_cast<uint32_t>(padding), DefinitionKind::kPadding, 0};
    memcpy(ring + at, &filler, sizeof(filler));
    at = 0;
  }
  memcpy(ring + at, record, record->size);
  cursor.head.store(head + padding + record->size, std::memory_order_release);
}

uint64_t padding_for(uint64_t head, uint64_t bytes, uint32_t size) {
  uint64_t left = bytes - (head & (bytes - 1));
  return left < size ? left : 0;
}

ThreadRecorder *own_recorder() {
  ThreadRecorder *recorder = thread_local_state()->recorder;
  return recorder != nullptr && recorder->is_active ? recorder : nullptr;
}

ProcessFile *process_file() { return process_state.file; }

// The process, or a thread, may have been attached by its I/O before.
void mpi_initialized() { start_sampling(); }

void mpi_finalizing() {
  if (process_state.sampling && library_state.sampler != nullptr) library_state.sampler->stop_process();
}

constinit RecorderLink link_of_preload = {
    .version = kRingVersion,
    .thread_local_offset = 0,  // known at run time only: backend_link()
    .process = &process_state.recorder,
    .attach_thread = attach_mpi_thread,
    .make_room = make_room,
    .close_polls = close_polls,
    .define = define,
    .site_id = site_id,
    .guard_holds = guard_holds,
    .count_loss = count_loss,
    .note = note,
    .process_file = process_file,
    .mpi_initialized = mpi_initialized,
    .mpi_finalizing = mpi_finalizing,
};

}  // namespace

extern "C" {
__thread ThreadLocal slurmscope_thread = {};
}
constinit ProcessState process_state = {};
DATA_AT_START constinit StartState start_state = {};
__attribute__((section(".slurmscope_cold"))) constinit LibraryState library_state = {};  // not between the above
const RecorderLink *recorder_link = &link_of_preload;

const RecorderLink *backend_link() {
  link_of_preload.thread_local_offset =
      reinterpret_cast<char *>(&slurmscope_thread) - static_cast<char *>(__builtin_thread_pointer());
  return &link_of_preload;
}

bool close_polls(ThreadRecorder *recorder) {
  RingFile *file = recorder->file;
  if (!recorder->is_active || file == nullptr) return true;
  while (PollRow *row = first_open_row(file->polls)) {
    if (!find_room(recorder)) return false;
    recorder->events[recorder->head & recorder->event_mask] = event_of(*row);
    row->count = 0;
    recorder->head++;
    file->events.head.store(recorder->head, std::memory_order_release);
  }
  return true;
}

bool make_room(ThreadRecorder *recorder) {
  RingFile *file = recorder->file;
  if (!recorder->is_active || file == nullptr) return false;
  if (close_polls(recorder) && find_room(recorder)) return true;
  lose(file, LossReason::kRingFull);
  return false;
}

bool define(const DefinitionHeader *record) {
  ThreadRecorder *recorder = own_recorder();
  if (recorder == nullptr) {
    count_loss(LossReason::kDefinition);
    return false;
  }
  RingFile *file = recorder->file;
  uint64_t head = file->definitions.head.load(std::memory_order_relaxed), bytes = file->definition_bytes;
  uint64_t padding = padding_for(head, bytes, record->size);
  if (padding + record->size > bytes ||
      !wait_for(file, file->definitions, head, padding + record->size, bytes)) {
    lose(file, LossReason::kDefinition);
    return false;
  }
  append_record(recorder->definitions, bytes, file->definitions, record, padding);
  return true;
}

bool push_sample(const DefinitionHeader *record) {
  ThreadRecorder *recorder = own_recorder();
  if (recorder == nullptr || recorder->samples == nullptr) return false;
  RingFile *file = recorder->file;
  uint64_t head = file->samples.head.load(std::memory_order_relaxed), bytes = file->sample_bytes;
  uint64_t padding = padding_for(head, bytes, record->size);
  if (head + padding + record->size - file->samples.tail.load(std::memory_order_acquire) > bytes) {
    lose(file, LossReason::kSample);  // in a signal handler: never wait
    return false;
  }
  append_record(recorder->samples, bytes, file->samples, record, padding);
  return true;
}

void note(const char *text) {
  size_t size = strnlen(text, 480);
  if (own_recorder() == nullptr) {
    // Kept for the first ring of the process; the first such note is the one that explains the rest.
    if (process_state.pending_note[0] == 0) memcpy(process_state.pending_note, text, size);
    return;
  }
  struct {
    NoteDefinition definition;
    char text[488];
  } record;
  size_t padded = (size + 7) / 8 * 8;
  memset(record.text, 0, padded);
  memcpy(record.text, text, size);
  record.definition = {{static_cast<uint32_t>(sizeof(NoteDefinition) + padded), DefinitionKind::kNote, 0},
                       now_ticks(), static_cast<uint32_t>(size), 0};
  define(&record.definition.header);
}

void count_loss(LossReason reason) {
  if (ProcessFile *file = process_state.file)
    file->lost[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace slurmscope
