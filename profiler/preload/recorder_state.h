// What the files of the recorder share: the state of the library, of the process, of a thread.
//
// Included by recorder.cc, attach.cc, lifecycle.cc, resolve.cc; nothing outside profiler/preload.
// LibraryState is filled once by the first of constructor and first call and is the same in a fork's
// child. ProcessState lies in a page of its own that a child sees zeroed: a child starts afresh without
// any handler, lock or system call of ours in fork.
#pragma once

#include <pthread.h>

#include "profiler/preload/recorder.h"
#include "proto/version.h"
#include "profiler/sampler/sampler_link.h"
#include "proto/settings.h"

namespace slurmscope {

struct LibraryState {
  std::atomic<uint32_t> loaded;   // 1: everything below is valid
  bool enabled;                   // there is a spool directory and the mode is not off
  bool verbose;
  bool has_thread_key;
  bool page_is_wiped;             // fork's children see ProcessState zeroed
  pthread_key_t thread_key;
  uint64_t load_ticks_tsc, load_ticks_monotonic;
  Settings settings;
  char spool[1024];
  char bad_settings[256];         // why SLURMSCOPE was not understood; empty: it was
  const SamplerModule *sampler;   // loaded once; survives fork
};
extern LibraryState library_state;

enum AttachState : uint32_t { kDetached = 0, kAttaching = 1, kAttached = 2, kAttachFailed = 3 };

/// A thread's recorder with what only recorder.cc needs; one page.
struct ThreadPage {
  ThreadRecorder recorder;
  ThreadPage *next;
  uint32_t is_sampled;
  std::atomic<uint32_t> in_use;   // 0: its thread ended, another may take it over
  alignas(64) uint8_t backend_cache[kBackendCacheBytes];
};
static_assert(sizeof(ThreadPage) <= 4096);

static_assert(offsetof(ThreadLocal, guard) == 8, "thunks_x86_64.S sets it");

/// One page, see above.
struct alignas(4096) ProcessState {
  ProcessRecorder recorder;
  std::atomic<uint32_t> attach;      // AttachState
  std::atomic<uint32_t> failed_calls; // since it last failed
  std::atomic<uint32_t> rings;       // made so far
  uint32_t pid, number;              // of proc-<pid>-<number>
  uint32_t sampling;                 // the sampler runs in this process
  std::atomic<uint32_t> sampler_tried;
  uint32_t is_refused;               // counted as such for the drainer
  uint32_t is_mpi;                   // an MPI call was made
  std::atomic<uint32_t> drain_tries;
  ProcessFile *file;
  std::atomic<DrainState *> drain;
  std::atomic<ThreadPage *> threads;
  std::atomic<uint64_t> *sites;      // hash of a call path per slot
  std::atomic<uint32_t> site_count;
  std::atomic<uint64_t> dead_heartbeat;  // at which the drainer was given up
  char pending_note[512];            // notes made before there was a ring
};

static_assert(sizeof(ProcessState) == 4096);
extern ProcessState process_state;

constexpr uint32_t kSiteSlots = 32768;

// attach.cc
ThreadRecorder *attach_thread();
/// The same from an MPI call, at which sampling may be started.
ThreadRecorder *attach_mpi_thread();
/// Gives the ring of the calling thread back; another thread may take it over.
void retire_thread(ThreadRecorder *recorder);
/// Maps SPOOL/drain if it is there.
void map_drain();

// recorder.cc
/// What a backend is given: recorder_link with the thread-local offset filled in.
const RecorderLink *backend_link();
bool make_room(ThreadRecorder *recorder);
bool close_polls(ThreadRecorder *recorder);
bool define(const DefinitionHeader *record);
bool push_sample(const DefinitionHeader *record);
void note(const char *text);
void count_loss(LossReason reason);

// process_facts.cc
/// Fills what /proc and the environment tell about this process.
void describe_process(ProcessFile *file);
/// True if the executable of this process is never recorded for its I/O.
bool is_skipped_executable(const char *skip);
/// True if rdtsc is as good as a clock on this machine, as the processor and the kernel say.
bool has_usable_tsc();

// lifecycle.cc
/// Reads the environment; idempotent. True if this process may record.
bool load_library_state();
/// Counters or call stacks are asked for.
bool wants_samples();
/// Starts them for the calling thread, and first for the process, if it is recorded and that was not done
/// yet. May load libraries and allocate: only from calls that no signal handler can have made.
void start_sampling();

// log.cc
/// One line on stderr, only if SLURMSCOPE_VERBOSE is set.
void log_trouble(const char *what, const char *name, int error);

}  // namespace slurmscope
