// The shared memory between an application's process and the drainer.
//
// Semantics
// - One ProcessFile per recorded process, one RingFile per recorded thread, in the spool directory.
//   The producer creates them (O_EXCL, 0600), fills the header and sets `ready` last.
// - Each ring has a single producer (its thread; the sample ring: the thread's signal handler) and a
//   single consumer (the drainer). `head` and `tail` count events or bytes since the beginning and
//   never wrap; the producer publishes `head` with release order after the content, the consumer
//   publishes `tail` with release order after what it read is safe in the output file.
// - A producer dies at any instruction: everything below `head` is whole.
// - A consumer dies at any instruction: its successor starts again at `tail`.
// - Ring full: the producer wakes the drainer and waits on `tail` as long as DrainState::heartbeat
//   moves; then it counts events as dropped until `tail` moves again. `stalls` and `stall_ticks`
//   count the waits.
// - Nothing here is trusted by the consumer: sizes come from the file's size, positions are masked.
// - A thread's polls that found nothing are summed up in PollRows and become events later. A row lies in
//   the file from its first call on: what a dead process left open, the consumer publishes in its place.
// - fork: the child stops using the parent's files before its first own call is recorded.
// Layout changes bump kRingVersion. libc only; no allocation, no locks; signal-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/event.h"

namespace slurmscope {

constexpr uint64_t kRingMagic = 0x31474e4952534c53;     // "SLSRING1"
constexpr uint64_t kProcessMagic = 0x31434f5250534c53;  // "SLSPROC1"
constexpr uint64_t kDrainMagic = 0x314e415244534c53;    // "SLSDRAN1"

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// Reasons of a loss, each counted on its own and named in the trace.
enum class LossReason : uint32_t {
  kRingFull = 0,     // the drainer was gone and the ring full
  kNoRing = 1,       // the thread got no ring (max_rings, memory, descriptors)
  kReentered = 2,    // a call from a signal handler that interrupted the recorder
  kDefinition = 3,   // a definition did not fit
  kSample = 4,       // a sample did not fit
  kCount = 5,
};

/// One direction of one ring: producer and consumer each on their own cache line.
struct RingCursor {
  alignas(64) std::atomic<uint64_t> head;
  std::atomic<uint64_t> unread;  // the producer's own: 1 + the tail at which it gave up waiting; 0 = never
  alignas(64) std::atomic<uint64_t> tail;
};

/// Calls of one kind from one place that asked for something and found nothing, while no other event of
/// their thread came between: they grow a row instead of the ring. Free if `count` is 0, which is written
/// last when a row is opened and first when its event is published.
struct alignas(64) PollRow {
  uint64_t start, end;  // of the first call, of the last one
  uint64_t count;
  uint64_t ticks;       // inside the calls
  uint64_t object;      // communicator handle bits of probes; 0 if they differ
  uint32_t site;
  int32_t peer, tag;    // of probes; kPeerNone and 0 if they differ
  uint16_t call;
};
constexpr size_t kPollRows = 4;  // a progress loop asks for several things in turn

/// The event that a row becomes.
inline Event event_of(const PollRow &row) {
  Event event = {};
  event.start = row.start;
  event.end = row.end;
  event.call = row.call;
  event.kind = EventKind::kPolls;
  event.site = row.site;
  event.peer = row.peer;
  event.tag = row.tag;
  event.object = row.object;
  event.request = row.count;
  event.offset = static_cast<int64_t>(row.ticks);
  return event;
}

/// The open row that ended first; NULL if none is open.
inline PollRow *first_open_row(PollRow (&rows)[kPollRows]) {
  PollRow *first = nullptr;
  for (PollRow &row : rows)
    if (row.count != 0 && (first == nullptr || row.end < first->end)) first = &row;
  return first;
}

/// Start of `ring-<pid>-<n>-<k>`. The three rings follow at their offsets.
struct RingFile {
  uint64_t magic;
  uint32_t version;
  std::atomic<uint32_t> ready;      // 1 once everything below is filled
  uint64_t event_offset, event_count;            // events; a power of two
  uint64_t definition_offset, definition_bytes;  // bytes; a power of two
  uint64_t sample_offset, sample_bytes;          // bytes; a power of two, or 0: no sampling
  uint32_t pid, index;
  std::atomic<uint32_t> retired;    // 1: its thread has ended; may be taken over by another thread
  alignas(64) RingCursor events;
  RingCursor definitions;
  RingCursor samples;
  alignas(64) std::atomic<uint64_t> stalls;      // waits of the producer because the ring was full
  std::atomic<uint64_t> stall_ticks;
  std::atomic<uint64_t> lost[static_cast<size_t>(LossReason::kCount)];
  PollRow polls[kPollRows];                      // of its thread; private to it while the process lives
};
constexpr size_t kRingHeaderBytes = 4096;
static_assert(sizeof(RingFile) <= kRingHeaderBytes);
constexpr size_t kDefinitionRingBytes = 256 * 1024;
constexpr size_t kSampleRingBytes = 1024 * 1024;
constexpr int kMaxStackDepth = 128;

enum class ClockKind : uint32_t { kTsc = 1, kMonotonic = 2 };  // ticks = rdtsc, or ns of CLOCK_MONOTONIC

/// `proc-<pid>-<n>`: what is known of one process. Texts are cut to fit and always terminated.
struct ProcessFile {
  uint64_t magic;
  uint32_t version;
  std::atomic<uint32_t> ready;
  uint32_t pid, parent_pid;
  uint64_t pid_namespace;           // inode of /proc/self/ns/pid
  uint64_t start_time;              // field 22 of /proc/self/stat: tells a recycled pid
  ClockKind clock;
  uint32_t clock_error_ns;          // how far apart the two readings below may be
  // Read together at attach: tell a process in a time namespace of its own (CLOCK_REALTIME has none).
  uint64_t time_namespace;          // inode of /proc/self/ns/time; 0 = unknown
  int64_t attach_monotonic_ns, attach_realtime_ns;
  uint64_t load_ticks;              // when the preload was loaded
  uint64_t attach_ticks;            // when this file was made
  // MPI identity, valid once mpi_ready is 1 (set after MPI_Init* returned, release order).
  std::atomic<uint32_t> mpi_ready;
  int32_t world_rank, world_size;   // MPI_COMM_WORLD
  int32_t thread_level;             // MPI_THREAD_SINGLE 0 .. MULTIPLE 3
  int32_t local_rank, local_size;   // as the launcher says in the environment; -1 = unknown
  int32_t slurm_procid;             // SLURM_PROCID; -1 = unset
  int32_t slurm_stepid;             // SLURM_STEP_ID; -1 = unset
  uint64_t init_start, init_end;    // ticks of MPI_Init*
  std::atomic<uint64_t> finalize_start, finalize_end;  // 0 = not reached
  std::atomic<uint32_t> exited;     // 1: the process ran its exit handlers
  uint32_t reserved2;
  // I/O before the process was recorded: counted, not traced.
  std::atomic<uint64_t> early_io_calls, early_io_bytes;
  std::atomic<uint64_t> lost[static_cast<size_t>(LossReason::kCount)];  // by threads without a ring
  char mpi_library[256];            // MPI_Get_library_version, first line
  char world_id[256];               // names the MPI_COMM_WORLD this process belongs to (launcher's job id)
  char exe[1024];
  char command_line[4096];          // arguments separated by NUL
  uint32_t command_line_size;
  char directory[1024];             // at attach
  char cpu_mask[256];               // Cpus_allowed_list
  char environment[4096];           // NAME=value NUL ... of the variables that matter (OMPI_MCA_*, UCX_*, ...)
  uint32_t environment_size;
};

/// `drain`: written by the drainer, mapped read-only by the producers (and written by futex wakes).
struct DrainState {
  uint64_t magic;
  uint32_t version;
  std::atomic<uint32_t> ready;
  std::atomic<uint32_t> pid;          // of the worker
  std::atomic<uint32_t> gone;         // 1: no drainer will follow any more
  std::atomic<uint64_t> heartbeat;    // CLOCK_MONOTONIC ns of the drainer's last round, at least every 200 ms
  alignas(64) std::atomic<uint32_t> sleeping;  // 1: the drainer waits on `wake`
  std::atomic<uint32_t> wake;         // futex: a producer adds 1 and wakes when its ring is half full
  std::atomic<uint32_t> refused;      // processes that could not make their file (and count themselves here)
  std::atomic<uint32_t> refusal;      // errno of the last of them
};

constexpr const char kDrainFileName[] = "drain";
constexpr const char kProcessFilePrefix[] = "proc-";
constexpr const char kRingFilePrefix[] = "ring-";

}  // namespace slurmscope
