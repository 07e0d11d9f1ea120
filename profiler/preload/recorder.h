// The engine under every wrapper: one event per outermost call into this thread's ring.
//
// A wrapper is
//     Recording recording(kCall_pwrite);            // entry: guard and clock
//     ssize_t result = real(fd, buffer, count, offset);
//     if (Event *event = recording.finish()) {      // exit: clock, slot in the ring (or NULL)
//       event->...;                                 // only what the call knows; the rest is preset
//       recording.publish();
//     }
//     return result;
// and changes neither errno nor anything else that the application can see. The guard falls back to
// zero when `recording` goes out of scope: definitions may be made between finish() and publish().
//
// Threading: one ring per thread; nothing here takes a lock. Signals: a call from a handler that
// interrupted a wrapper is nested, passes through and is not recorded. Allocation: none (mmap when a
// thread's ring is made). The MPI backends live in other shared objects: they get RecorderLink and use
// the same inline code through the thread pointer, so nothing is exported.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <x86intrin.h>

#include "proto/event.h"
#include "proto/ring.h"
#include "profiler/preload/call_table.h"
#include "profiler/preload/guard.h"

namespace slurmscope {

struct CallPaths;  // call_paths.h

/// What one thread needs on the hot path. Lives at the start of its own mmap'ed page, not in TLS. A
/// fork's child sees the page zeroed (MADV_WIPEONFORK), so that it cannot write into its parent's ring.
struct ThreadRecorder {
  uint32_t is_active;    // 0: retired, or this is a fork's child
  uint32_t index;        // k of ring-<pid>-<n>-<k>
  RingFile *file;
  Event *events;
  uint64_t event_mask;
  uint64_t head;         // private copy of file->events.head
  uint64_t checkpoint;   // head at which room, open polls and the drainer must be looked at again
  uint64_t polls_limit;  // ticks after which a row of polls is closed
  uint8_t *definitions;
  uint8_t *samples;
  CallPaths *paths;      // NULL at first
  void *backend_cache;   // zeroed memory for the MPI backend, kBackendCacheBytes
  void *scratch;         // of the MPI backend: grows by mmap, NULL at first
  size_t scratch_size;
};
constexpr size_t kBackendCacheBytes = 3072;

/// One per process, in a page that a fork's child sees zeroed (MADV_WIPEONFORK).
struct ProcessRecorder {
  uint32_t is_active;    // 0: not (yet, any more) recording, or this is a fork's child: slow path
  uint32_t uses_tsc;
  uint64_t io_calls, io_bytes;  // towards the threshold, while there is no ring (relaxed, approximate)
  uint32_t is_paused;    // by MPI_Pcontrol(0), until MPI_Pcontrol(1)
};

/// What a call does while recording is paused: most are skipped; those that change what handles mean
/// (communicators, windows) do their definitions but leave no event.
enum class WhenPaused { kSkip, kDefine };

/// Where a call came from.
struct CallSite {
  const void *address;  // return address into the caller
  const void *stack;    // the caller's stack pointer once the call returned (the wrapper's canonical frame address)
};

/// Passed to each backend when it is loaded. Function pointers are the slow paths, implemented in
/// recorder.cc; none of them throws, prints on success, or changes errno.
struct RecorderLink {
  uint32_t version;                  // kRingVersion
  ptrdiff_t thread_local_offset;     // of the ThreadLocal from the thread pointer
  ProcessRecorder *process;
  /// Makes the process's and the thread's files if need be; NULL if this thread is not recorded.
  ThreadRecorder *(*attach_thread)();
  /// head reached checkpoint: closes polls, wakes the drainer, waits for room. False: drop (already counted).
  bool (*make_room)(ThreadRecorder *);
  /// Makes events of the thread's open rows of polls. False: there is no room, they go on.
  bool (*close_polls)(ThreadRecorder *);
  /// Copies one whole record (header filled) into this thread's definition ring. False: lost, counted.
  bool (*define)(const DefinitionHeader *record);
  /// Id of the call path that ends in `site` (0: it has none). Between the entry and the end of a call.
  uint32_t (*site_id)(CallSite site);
  /// For a guard that the caller's frame is not inside of: true if it holds nevertheless (a handler on a
  /// stack of its own, a vfork's child); else it is reset.
  bool (*guard_holds)(ThreadLocal *self);
  /// Counts a loss of this process.
  void (*count_loss)(LossReason);
  /// A warning for the report (printf-style text made by the caller).
  void (*note)(const char *text);
  /// The process's file once attached (to publish MPI identity), else NULL.
  ProcessFile *(*process_file)();
  /// Hooks that other parts hang on the MPI life cycle: start and end of counters, call-path unwinder.
  void (*mpi_initialized)();
  void (*mpi_finalizing)();
};

/// Defined in recorder.cc (preload) and in backend.cc (each backend): what the inline code below uses.
/// The preload itself (SLURMSCOPE_PRELOAD) reaches its thread-local storage directly, so that it works
/// before any constructor ran.
extern const RecorderLink *recorder_link;

#ifdef SLURMSCOPE_PRELOAD
extern "C" __attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread ThreadLocal slurmscope_thread;
inline ThreadLocal *thread_local_state() { return &slurmscope_thread; }
#else
inline ThreadLocal *thread_local_state() {
  return reinterpret_cast<ThreadLocal *>(static_cast<char *>(__builtin_thread_pointer()) +
                                         recorder_link->thread_local_offset);
}
#endif

inline uint64_t now_ticks() {
  if (__builtin_expect(recorder_link->process->uses_tsc, 1)) return __rdtsc();
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// True inside a wrapper of this thread: the call is not the application's own.
__attribute__((always_inline)) inline bool is_nested() {
  ThreadLocal *self = thread_local_state();
  uintptr_t guard = self->guard;
  if (__builtin_expect(guard == 0, 1)) return false;
  return own_frame() <= guard || recorder_link->guard_holds(self);
}

/// Hides the tool's own calls from itself while it lives.
class Hidden {
 public:
  __attribute__((always_inline)) Hidden() : self_(thread_local_state()), before_(self_->guard) {
    if (before_ == 0) self_->guard = guard_of(own_frame());
  }
  ~Hidden() { self_->guard = before_; }
  Hidden(const Hidden &) = delete;
  Hidden &operator=(const Hidden &) = delete;

 private:
  ThreadLocal *self_;
  uintptr_t before_;
};

/// One outermost call. Use is_nested() first: a nested call must go straight to the real function.
class Recording {
 public:
  __attribute__((always_inline)) explicit Recording(uint16_t call, uintptr_t guard_kind = 0,
                                                    WhenPaused when_paused = WhenPaused::kSkip)
      : self_(thread_local_state()), call_(call) {
    see_unwinding();
    self_->guard = guard_of(own_frame()) | guard_kind;
    recorder_ = self_->recorder;
    if (__builtin_expect(recorder_ == nullptr || !recorder_->is_active, 0)) {
      recorder_ = recorder_link->attach_thread();
      if (recorder_ == nullptr) return;  // nothing to time
    }
    if (__builtin_expect(recorder_link->process->is_paused, 0)) {
      is_muted_ = true;
      if (when_paused == WhenPaused::kSkip) recorder_ = nullptr;
    }
    start_ = now_ticks();
  }
  /// Only here is the call over: until then a signal handler's own calls are nested, so that none of
  /// them can take the slot that finish() gave or write into a half-written definition.
  ~Recording() { self_->guard = 0; }
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;
  /// The ring that the call goes to; NULL if it is not recorded (do nothing then but call the real one).
  ThreadRecorder *recorder() const { return recorder_; }
  /// For what must be done between the entry and the real call: sets the start to now.
  void restart() {
    if (recorder_ != nullptr) start_ = now_ticks();
  }
  /// Ends the call. Returns the event to complete (start, end, call set; kind kCall, peer kPeerNone,
  /// offset -1, everything else 0), or NULL if it is not recorded.
  Event *finish() {
    if (__builtin_expect(recorder_ == nullptr, 0)) return nullptr;
    end_ = now_ticks();
    return next(EventKind::kCall);
  }
  /// Instead of finish(), if the call asked for something and found nothing: it joins the thread's open row of
  /// such calls from the same place, and there is no event to complete. A probe says what it looked for. True if
  /// the call is the first of its row: what it refers to must be defined.
  bool finish_poll(CallSite site, uint64_t object = 0, int32_t peer = kPeerNone, int32_t tag = 0) {
    ThreadRecorder *recorder = recorder_;
    if (__builtin_expect(recorder == nullptr, 0)) return false;
    end_ = now_ticks();
    uint32_t site_id = recorder_link->site_id(site);
    RingFile *file = recorder->file;
    if (__builtin_expect(file == nullptr, 0)) return false;  // forked by a signal handler
    for (PollRow &row : file->polls) {
      if (row.call != call_ || row.site != site_id || row.count == 0) continue;
      if (row.object != object) row.object = 0, row.peer = kPeerNone, row.tag = 0;
      if (row.peer != peer) row.peer = kPeerNone;
      if (row.tag != tag) row.tag = 0;
      row.end = end_;
      row.ticks += end_ - start_;
      row.count++;
      if (__builtin_expect(end_ - row.start > recorder->polls_limit, 0)) recorder_link->close_polls(recorder);
      return false;
    }
    open_row(file, site_id, object, peer, tag);
    return true;
  }
  /// Room for one more event of the same call (kComplete, kReceive), after publish().
  Event *another(EventKind kind) { return next(kind); }
  /// Makes the event of finish() or another() visible to the drainer.
  void publish() {
    RingFile *file = recorder_->file;
    if (__builtin_expect(file == nullptr, 0)) return;  // forked by a signal handler since finish()
    if (__builtin_expect(is_muted_, 0)) return;
    recorder_->head++;
    file->events.head.store(recorder_->head, std::memory_order_release);
  }
  uint64_t start() const { return start_; }

 private:
  __attribute__((noinline)) void open_row(RingFile *file, uint32_t site_id, uint64_t object, int32_t peer, int32_t tag) {
    PollRow *free = nullptr;
    for (PollRow &row : file->polls)
      if (row.count == 0) free = &row;
    if (free == nullptr) {
      // More places than rows take turns: all start anew. Without room for them this one call is lost.
      if (!recorder_link->make_room(recorder_)) return;
      free = &file->polls[0];
    }
    free->start = start_;
    free->end = end_;
    free->ticks = end_ - start_;
    free->object = object;
    free->site = site_id;
    free->peer = peer;
    free->tag = tag;
    free->call = call_;
    std::atomic_signal_fence(std::memory_order_release);  // the drainer looks at it when this process is dead
    free->count = 1;
    recorder_->checkpoint = recorder_->head;  // the next event closes it
  }
  Event *next(EventKind kind) {
    ThreadRecorder *recorder = recorder_;
    if (__builtin_expect(recorder->head == recorder->checkpoint, 0)) {
      // Also the way of a fork in a signal handler inside the call: the wiped page has head and
      // checkpoint 0, and make_room() refuses it.
      if (!recorder_link->make_room(recorder)) return nullptr;
    }
    Event *event = recorder->events + (recorder->head & recorder->event_mask);
    event->start = start_;
    event->end = end_;
    event->call = call_;
    event->kind = kind;
    event->flags = 0;
    event->site = 0;
    event->bytes = 0;
    event->peer = kPeerNone;
    event->tag = 0;
    event->object = 0;
    event->request = 0;
    event->offset = -1;
    return event;
  }

  ThreadLocal *self_;
  ThreadRecorder *recorder_;
  uint64_t start_ = 0, end_ = 0;
  uint16_t call_;
  bool is_muted_ = false;
};

}  // namespace slurmscope
