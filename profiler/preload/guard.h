// The thread's guard: who is inside a wrapper, so that the calls it makes are not taken for the application's.
//
// Used by recorder.h in the preload and, through RecorderLink, in the backends. Per thread, async-signal-safe,
// no system call unless a guard turns out to be in question (guard.cc).
//
// The guard is the address of the guarding frame, 0 outside. A call made inside that frame has a frame
// below it. A frame that is not below proves that the guarding one is gone without having been left: by
// longjmp, swapcontext, a C++ exception, cancellation, or in a vfork's child that was killed. Exceptions and
// cancellation are also seen when they pass (slurmscope_unwinding), longjmp when it is called (thunks).
#pragma once

#include <cstdint>

namespace slurmscope {

struct ThreadRecorder;

/// All thread-local storage of the preload: small, initial-exec.
struct ThreadLocal {
  ThreadRecorder *recorder;  // NULL: none yet
  uintptr_t guard;           // see above; the low bits are kGuardOfIo or kGuardVfork
  uint32_t state;            // private to attach.cc and lifecycle.cc
  uint16_t owner;            // ThreadOwner, see runtime_threads.h
  uint16_t is_sealed;        // 1: a system call that is not the program's own may kill it (seccomp)
};

/// Bit: the guarding call is one of libc's I/O functions, which by themselves call no wrapper of ours.
constexpr uintptr_t kGuardOfIo = 1;
/// Instead of an address (thunks_x86_64.S): this thread has called vfork or clone. Whoever calls now is the
/// child, in its parent's memory, or the parent, which takes the mark away.
constexpr uintptr_t kGuardVfork = 8;

/// Address by which the function that this is inlined into is known. Frames are 16-byte aligned.
__attribute__((always_inline)) inline uintptr_t own_frame() {
  return reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa());
}

/// True in a vfork's (or clone's) child, which has its parent's memory but not its descriptors. Costs a system
/// call only while there is reason to ask.
bool is_vfork_child();
/// See RecorderLink.
bool guard_holds(ThreadLocal *self);

/// Before seccomp's strict mode or a filter of the program's own: ends sampling of this thread and all system calls of ours in it.
void seal_thread();

/// The guard of a frame: every frame inside it is at or below, itself and its callers are above.
constexpr uintptr_t guard_of(uintptr_t frame) { return frame - 16; }

/// Called by the unwinder in place of a language's personality routine, when an exception or a cancellation
/// goes through a wrapper. There is nothing to clean up but the guard. One copy per shared object.
extern "C" int slurmscope_unwinding(int version, int actions, uint64_t exception_class, void *exception, void *context);

/// Makes the function that it is inlined into known to the unwinder in that way. Code compiled with
/// exceptions (tests) has destructors instead.
__attribute__((always_inline)) inline void see_unwinding() {
#if !defined(__EXCEPTIONS)
  __asm__ volatile(".cfi_personality 0x1b, slurmscope_unwinding");  // DW_EH_PE_pcrel | DW_EH_PE_sdata4
#endif
}

}  // namespace slurmscope
