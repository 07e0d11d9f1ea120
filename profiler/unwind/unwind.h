// The call stack of a thread: of what a signal interrupted, or of the caller.
//
// Linked into libslurmscope.so: call paths (call_paths.cc) use it in a normal context, the sampler's signal handler
// gets it through SamplerHost; each on its own thread, with a state of its own. Takes no lock and allocates nothing: objects are found with _dl_find_object(),
// which is async-signal-safe (libunwind finds them with dl_iterate_phdr(), whose lock the interrupted
// thread, or one that waits for a lock of the interrupted thread, may hold), and memory is read
// through the kernel unless the caller vouches for it. Everything large lives in the caller's UnwindState, so small stacks suffice.
// A walk that meets code without unwind information ends there: frames are never guessed.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/unwind/cfi_rules.h"

namespace slurmscope {

constexpr int kSavedRegisters = 7;  // rbx, rbp, r12-r15, rip: what a caller's frame can depend on

/// The rules of one return address in the common form (everything saved relative to the CFA).
struct CachedRow {
  uint64_t pc;      // 0: empty
  uint64_t header;  // .eh_frame_hdr of the object that had the rules
  uint8_t cfa_register;
  bool is_outermost, is_signal_frame;
  int32_t cfa_offset;
  int32_t offsets[kSavedRegisters];  // from the CFA; kNotSaved: still in the register
};
constexpr int32_t kNotSaved = INT32_MIN;

// A miss searches the object's table through the kernel, some ten system calls; a large program's stacks have several
// hundred return addresses. Only what is used of it takes memory.
constexpr size_t kCachedRows = 2048;

/// Working memory of one thread, zeroed before its first use. Not reentrant.
struct UnwindState {
  uint64_t pc_slot;                    // where the last step found the return address; 0: not in memory
  uint64_t own_low, own_high;          // memory that surely exists, read as it is; none: equal
  uint64_t window_start, window_size;  // what `window` holds of the stack
  uint8_t window[2048];
  uint64_t registers[kRegisterCount];
  CfiScratch scratch;
  CachedRow cache[kCachedRows];
};

/// Makes `state` that of the function into which this is inlined; steps start with *is_exact = true.
__attribute__((always_inline)) inline void begin_here(UnwindState *state);

enum class Step { kCaller, kOutermost, kLost };

/// Replaces state->registers by those of the caller. `is_exact`: the pc is an instruction that was
/// interrupted, not the one behind a call; set for the next step.
Step unwind_step(UnwindState *state, bool *is_exact);

/// True if stacks can be walked here; else `*reason` says why not. From a normal context.
bool can_unwind(const char **reason);

/// Writes up to `limit` addresses, innermost first: the interrupted instruction + 1, then the return
/// addresses (so that one less than each lies in the code that was running). Returns how many;
/// `*truncated` tells whether the stack goes on beyond them.
int unwind_stack(const ucontext_t *context, UnwindState *state, uint64_t *addresses, int limit, bool *truncated);

__attribute__((always_inline)) inline void begin_here(UnwindState *state) {
  state->scratch.self = getpid();
  state->window_size = 0;  // the stack has changed since the last walk
#if defined(__x86_64__)
  __asm__ volatile(
      "leaq 0(%%rip), %%rax\n\t"  // the next instruction: the same call frame rules
      "movq %%rax, 128(%0)\n\t"
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      :
      : "r"(state->registers)
      : "rax", "memory");
#endif
}

}  // namespace slurmscope
