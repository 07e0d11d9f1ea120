// Ticks of a thread's CPU time, delivered to that thread as a signal.
//
// Called by sampler.cc. POSIX timers on the thread's CPU clock: a thread that is blocked uses no CPU
// time, so no call of the application is ever interrupted (EINTR) by a tick; other than interval timers
// they are neither inherited by a fork's child nor kept over exec. The kernel looks at these clocks
// once per scheduler tick: rates above its HZ (often 250) arrive merged, and are counted.
#pragma once

#include "profiler/sampler/thread_slot.h"

namespace slurmscope {

/// Runs in the handler: on `slot`'s thread, all signals blocked, errno saved by the caller.
using TickAction = void (*)(ThreadSlot *slot, Tick kind, const ucontext_t *context);

/// Picks a real-time signal that nobody uses and installs the handler, which stays for good. False:
/// `*reason` says why not. Once per process.
bool install_ticks(TickAction action, const char **reason);

/// False once the application has taken the signal for itself: the timers must go.
bool owns_tick_signal();

/// True if the calling thread blocks the signal, i.e. would never see a tick.
bool is_tick_blocked();

/// The calling thread's slot: a new one (NULL: no memory, or too many threads) or the one it has.
ThreadSlot *claim_slot();
ThreadSlot *find_slot();
/// Slot number `index` whether in use or not; NULL at the end.
ThreadSlot *slot_at(uint32_t index);

/// Starts ticks of the calling thread. False, with errno, if the kernel refuses.
bool start_ticks(ThreadSlot *slot, Tick kind, uint64_t interval_ns);
/// Ends all ticks of a slot, from any thread; idempotent.
void stop_ticks(ThreadSlot *slot);

/// CPU time of a thread of this process; 0 if it has ended.
uint64_t thread_cpu_ns(pid_t tid);

/// In a fork's child: no thread has a slot or a timer any more.
void forget_ticks();

}  // namespace slurmscope
