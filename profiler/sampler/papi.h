// PAPI counters: what can be counted here, and reading it.
//
// Called by sampler.cc. Two kinds of counters:
// - per thread (component perf_event): every recorded thread has its own event set; read at 10 Hz in
//   the tick handler. PAPI_read() of that component is a read() of perf descriptors or rdpmc, without
//   locks or allocation: PAPI calls it in its own overflow handler.
// - of the process (every other component, such as software-defined events): read by the thread that
//   started the process, outside of signal handlers only, because such components take locks and run
//   code of the application; so at the start and at the end.
// What cannot be counted is left out, with a note `counter NAME: reason`; it is never 0. Nothing is
// multiplexed: an event that does not fit beside the others is left out.
// If the application uses PAPI itself, everything is left to it: PAPI allows one running event set per
// thread and component.
#pragma once

#include <cstdint>

#include "profiler/sampler/sampler_link.h"

namespace slurmscope {

constexpr int kMaxCounters = 32;

struct ThreadCounters {
  int event_set;
  bool is_running;
};

/// Finds out which of settings->counters can be counted, by starting and stopping them; defines the
/// per-thread ones. False: none can. Once per process.
bool start_counters(const SamplerHost *host);

/// Starts the calling thread's counters; false if there are none, or (with a note) if PAPI refuses.
bool start_thread_counters(ThreadCounters *counters);

/// Reads the calling thread's counters into values[kMaxCounters]; returns how many (0: none).
/// Signal-safe.
int read_thread_counters(const ThreadCounters *counters, int64_t *values);

/// Appends the process's counters behind the `count` per-thread ones, defining those that are readable
/// for the first time; returns the new count. Only from the thread that started the process.
int read_process_counters(int count, int64_t *values);

/// Ends the calling thread's counters.
void stop_thread_counters(ThreadCounters *counters);

/// Ends the process's counters; notes which never had a value.
void stop_counters();

/// In a fork's child: PAPI's descriptors belong to the parent, so there is no counting here.
void forget_counters();

}  // namespace slurmscope
