// What the sampler knows of one recorded thread.
//
// Slots are mmap'ed one by one and never unmapped, so that a tick that was already on its way when its
// timer was deleted still finds memory. A slot is claimed and released by its own thread (or by the
// thread that stops the process) outside of signal handlers; in between only its own thread's handler
// touches it, and not while `busy` is set.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <sys/types.h>

#include "profiler/sampler/papi.h"
#include "profiler/unwind/unwind.h"
#include "proto/event.h"
#include "proto/ring.h"

namespace slurmscope {

enum Tick : uint32_t { kTickStack = 0, kTickCounters = 1, kTickKinds = 2 };

struct ThreadSlot {
  std::atomic<pid_t> tid;           // 0: free
  uint32_t index;
  std::atomic<uint32_t> busy;       // 1: its thread is inside the sampler outside of the handler
  std::atomic<uint32_t> armed[kTickKinds];
  timer_t timers[kTickKinds];
  bool is_first;                    // the thread that started the process: reads the process's counters
  uint64_t cpu_start_ns;            // the thread's CPU time when sampling began
  std::atomic<uint64_t> taken;      // stacks pushed
  std::atomic<uint64_t> merged;     // ticks that the kernel delivered as one with another
  std::atomic<uint64_t> skipped;    // ticks that found the thread inside the sampler
  ThreadCounters counters;
  struct {
    StackSample head;
    uint64_t addresses[kMaxStackDepth];
  } stack;
  struct {
    CounterSample head;
    int64_t values[kMaxCounters];
  } sample;
  UnwindState unwind;
};

}  // namespace slurmscope
