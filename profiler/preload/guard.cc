// Guards in question; see guard.h. Called on rare paths only; async-signal-safe, errno kept.
#include <csignal>
#include <pthread.h>

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder.h"

namespace slurmscope {
namespace {

/// What libc believes this thread's id to be. A vfork's child has its parent's thread-local storage, so
/// for it this is the parent's id; a fork's child has been given its own.
uint32_t remembered_tid() {
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return 0;
  return ~static_cast<uint32_t>(clock >> 3);  // the kernel's encoding of a thread's clock
}

bool is_on_alternate_stack() {
  stack_t stack;
  return raw::call(SYS_sigaltstack, 0, raw::address(&stack)) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

}  // namespace

bool is_vfork_child() {
  ThreadLocal *self = thread_local_state();
  if (self->guard != kGuardVfork || self->is_sealed) return false;
  if (remembered_tid() != raw::gettid()) return true;
  self->guard = 0;
  return false;
}

bool guard_holds(ThreadLocal *self) {
  if (self->guard == kGuardVfork) return is_vfork_child();
  // Not below the guarding frame, but perhaps on another stack.
  if (self->is_sealed || is_on_alternate_stack()) return true;
  self->guard = 0;
  return false;
}

}  // namespace slurmscope
