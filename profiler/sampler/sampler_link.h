// The seam between the preload and the sampler, which is loaded with dlopen(RTLD_LOCAL) only when
// counters or call stacks are asked for.
#pragma once

#include <cstdint>

#include "proto/ring.h"
#include "proto/settings.h"
#include "profiler/unwind/unwind.h"

namespace slurmscope {

/// What the preload gives. push_sample() and unwind_stack() are async-signal-safe and may be called in the sampler's
/// signal handler of the thread that is sampled.
struct SamplerHost {
  uint32_t version;  // kRingVersion
  const Settings *settings;
  uint64_t (*now_ticks)();
  /// Copies one whole record (kCounterSample, kStackSample) into this thread's sample ring; false:
  /// lost, and counted.
  bool (*push_sample)(const DefinitionHeader *record);
  /// Copies one whole record (kCounter, kNote) into this thread's definition ring; not in a handler.
  bool (*define)(const DefinitionHeader *record);
  void (*note)(const char *text);
  /// See unwind.h.
  bool (*can_unwind)(const char **reason);
  int (*unwind_stack)(const ucontext_t *context, UnwindState *state, uint64_t *addresses, int limit, bool *truncated);
};

/// What the sampler gives, by the exported symbol `slurmscope_sampler` of type SamplerModule.
struct SamplerModule {
  uint32_t version;
  /// Once per process, from the thread that attached it. False: nothing will be sampled; the reason
  /// went to note().
  bool (*start_process)(const SamplerHost *host);
  /// Each recorded thread, once it has its ring; the thread that starts the process is included.
  void (*start_thread)();
  /// Before a recorded thread ends; reads counters for the last time.
  void (*stop_thread)();
  /// At MPI_Finalize and at exit (idempotent): last counter values of the calling thread.
  void (*stop_process)();
  /// In a fork's child, before anything else: the parent's timers and counters are not ours.
  void (*forget)();
};

}  // namespace slurmscope
