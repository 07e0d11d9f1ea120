// What the files of the recorder share: the state of the library, of the process, of a thread.
//
// Included by recorder.cc, attach.cc, lifecycle.cc, resolve.cc; nothing outside profiler/preload.
// LibraryState is the same in a fork's child: StartState is filled by the first of constructor and first call, the
// settings when the process is to be recorded. ProcessState lies in a page of its own that a child sees zeroed: a child starts afresh without
// any handler, lock or system call of ours in fork.
#pragma once

#include <pthread.h>

#include "profiler/preload/recorder.h"
#include "proto/version.h"
#include "profiler/sampler/sampler_link.h"
#include "proto/settings.h"

namespace slurmscope {

/// Puts what every command runs through next to each other: few pages are touched.
#define AT_START __attribute__((section(".text.startup")))
#define DATA_AT_START __attribute__((section(".data")))  // which the loader writes to anyway

/// What is read at the start of each command of a job. Kept small, and as text: each page of code or data that is
/// touched there costs microseconds, in a shell script a thousand times.
struct StartState {
  std::atomic<uint32_t> started;  // 2: everything below is valid
  bool has_spool;                 // there is a spool directory
  bool verbose;
  bool has_thread_key;
  bool page_is_wiped;             // fork's children see ProcessState zeroed
  bool has_attached;              // this process or one that forked it
  pthread_key_t thread_key;
  uint64_t load_ticks_tsc, load_ticks_monotonic;
  char spool[1024];
  char settings[512];             // SLURMSCOPE
};
extern StartState start_state;

struct LibraryState {
  std::atomic<uint32_t> loaded;   // 2: everything below is valid
  bool enabled;                   // the mode is not off, and the executable is not to be skipped
  bool records_io;                // nor one whose I/O nobody asks for
  Settings settings;
  char bad_settings[256];         // why SLURMSCOPE was not understood; empty: it was
  const SamplerModule *sampler;   // loaded once; survives fork
};
extern LibraryState library_state;

enum AttachState : uint32_t { kDetached = 0, kAttaching = 1, kAttached = 2, kAttachFailed = 3, kUnwanted = 4 };

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
/// Whether this process is to be recorded, going by the name of its executable: not if it is in the list `skip`; its
/// I/O neither if it is a launcher's or a shell's.
struct Wanted { bool process, io; };
Wanted wanted_parts(const char *skip);
/// True if rdtsc is as good as a clock on this machine, as the processor and the kernel say.
bool has_usable_tsc();

// lifecycle.cc
/// Reads the environment; idempotent. True if this process may be one to record.
bool read_start_state();
/// Understands what read_start_state() has read; idempotent. True if this process is one to record.
bool load_library_state();
/// The same, also while another thread is at it; from no signal handler.
bool await_library_state();
/// Counters or call stacks are asked for.
bool wants_samples();
/// Starts them for the calling thread, and first for the process, if it is recorded and that was not done
/// yet. May load libraries and allocate: only from calls that no signal handler can have made.
void start_sampling();

// log.cc
/// One line on stderr, only if SLURMSCOPE_VERBOSE is set.
void log_trouble(const char *what, const char *name, int error);

}  // namespace slurmscope
