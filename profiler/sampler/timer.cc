// See timer.h.
//
// Why a real-time signal near SIGRTMAX: SIGPROF belongs to gprof and other profilers, SIGURG and the
// like to frameworks that install a handler for every named signal. If the application installs its own
// handler for our signal we notice at the next occasion (owns_tick_signal()) and yield.
#include "profiler/sampler/timer.h"

#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace slurmscope {
namespace {

constexpr uint32_t kMaxSlots = 4096;
std::atomic<ThreadSlot *> slots[kMaxSlots];
TickAction tick_action;
int tick_signal;

void on_signal(int, siginfo_t *info, void *context) {
  int saved_errno = errno;
  uint32_t value = static_cast<uint32_t>(info->si_value.sival_int), index = value / kTickKinds;
  if (info->si_code == SI_TIMER && index < kMaxSlots) {
    ThreadSlot *slot = slots[index].load(std::memory_order_relaxed);
    Tick kind = static_cast<Tick>(value % kTickKinds);
    // A late tick of a slot's former owner finds another thread id there.
    if (slot != nullptr && slot->tid.load(std::memory_order_relaxed) == gettid()) {
      if (kind == kTickStack && info->si_overrun > 0)
        slot->merged.fetch_add(static_cast<uint64_t>(info->si_overrun), std::memory_order_relaxed);
      if (slot->busy.load(std::memory_order_relaxed)) slot->skipped.fetch_add(1, std::memory_order_relaxed);
      else if (slot->armed[kind].load(std::memory_order_relaxed)) tick_action(slot, kind, static_cast<ucontext_t *>(context));
    }
  }
  errno = saved_errno;
}

}  // namespace

bool install_ticks(TickAction action, const char **reason) {
  tick_action = action;
  if (tick_signal != 0) return true;  // a fork's child: the handler is inherited
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  for (int number = SIGRTMAX - 2; number > SIGRTMIN + 2; number--) {
    struct sigaction old, mine = {};
    if (sigismember(&blocked, number) || sigaction(number, nullptr, &old) != 0) continue;
    if ((old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) continue;
    mine.sa_sigaction = on_signal;
    // On the alternate stack, if the thread has one: Go demands it, and a coroutine's stack may be small.
    mine.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&mine.sa_mask);  // an application's handler must not jump out of ours
    if (sigaction(number, &mine, nullptr) != 0) break;
    tick_signal = number;
    return true;
  }
  *reason = "the program uses or blocks every real-time signal";
  return false;
}

bool owns_tick_signal() {
  struct sigaction now;
  return tick_signal != 0 && sigaction(tick_signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
         now.sa_sigaction == on_signal;
}

bool is_tick_blocked() {
  sigset_t blocked;
  return pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, tick_signal) == 1;
}

ThreadSlot *claim_slot() {
  pid_t self = gettid();
  for (uint32_t index = 0; index < kMaxSlots; index++) {
    ThreadSlot *slot = slots[index].load(std::memory_order_acquire);
    if (slot == nullptr) {
      void *memory = mmap(nullptr, sizeof(ThreadSlot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      ThreadSlot *fresh = static_cast<ThreadSlot *>(memory), *expected = nullptr;
      fresh->index = index;
      if (slots[index].compare_exchange_strong(expected, fresh)) {
        slot = fresh;
      } else {
        munmap(memory, sizeof(ThreadSlot));
        slot = expected;
      }
    }
    pid_t free = 0;
    if (slot->tid.compare_exchange_strong(free, self)) return slot;
  }
  return nullptr;
}

ThreadSlot *find_slot() {
  pid_t self = gettid();
  for (uint32_t index = 0; ThreadSlot *slot = slot_at(index); index++)
    if (slot->tid.load(std::memory_order_relaxed) == self) return slot;
  return nullptr;
}

ThreadSlot *slot_at(uint32_t index) {
  return index < kMaxSlots ? slots[index].load(std::memory_order_acquire) : nullptr;
}

bool start_ticks(ThreadSlot *slot, Tick kind, uint64_t interval_ns) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = tick_signal;
  event.sigev_value.sival_int = static_cast<int>(slot->index * kTickKinds + kind);
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &slot->timers[kind]) != 0) return false;
  slot->armed[kind].store(1, std::memory_order_release);
  itimerspec period;
  period.it_interval.tv_sec = static_cast<time_t>(interval_ns / 1000000000u);
  period.it_interval.tv_nsec = static_cast<long>(interval_ns % 1000000000u);
  period.it_value = period.it_interval;
  if (timer_settime(slot->timers[kind], 0, &period, nullptr) == 0) return true;
  int error = errno;
  stop_ticks(slot);
  errno = error;
  return false;
}

void stop_ticks(ThreadSlot *slot) {
  for (uint32_t kind = 0; kind < kTickKinds; kind++)
    if (slot->armed[kind].exchange(0)) timer_delete(slot->timers[kind]);
}

uint64_t thread_cpu_ns(pid_t tid) {
  timespec now;
  clockid_t clock = static_cast<clockid_t>(~static_cast<uint32_t>(tid) << 3 | 6);  // CPUCLOCK_SCHED, per thread
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void forget_ticks() {
  for (uint32_t index = 0; ThreadSlot *slot = slot_at(index); index++) {
    slot->tid.store(0);
    slot->busy.store(0);
    for (auto &armed : slot->armed) armed.store(0);
  }
}

}  // namespace slurmscope
