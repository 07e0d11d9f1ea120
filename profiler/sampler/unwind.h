// The call stack of an interrupted thread.
//
// Called by the sampling signal handler (timer.cc) on the thread itself; usable from a normal context
// with getcontext() too. Takes no lock and allocates nothing: objects are found with _dl_find_object(),
// which is async-signal-safe (libunwind finds them with dl_iterate_phdr(), whose lock the interrupted
// thread, or one that waits for a lock of the interrupted thread, may hold), and all memory is read
// through the kernel. Everything large lives in the caller's UnwindState, so small stacks suffice.
// A walk that meets code without unwind information ends there: frames are never guessed.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <ucontext.h>

#include "profiler/sampler/cfi_rules.h"

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

/// Working memory of one thread, zeroed before its first use. Not reentrant.
struct UnwindState {
  uint64_t window_start, window_size;  // what `window` holds of the stack
  uint8_t window[2048];
  uint64_t registers[kRegisterCount];
  CfiScratch scratch;
  CachedRow cache[256];
};

/// True if stacks can be walked here; else `*reason` says why not. From a normal context.
bool can_unwind(const char **reason);

/// Writes up to `limit` addresses, innermost first: the interrupted instruction + 1, then the return
/// addresses (so that one less than each lies in the code that was running). Returns how many;
/// `*truncated` tells whether the stack goes on beyond them.
int unwind_stack(const ucontext_t *context, UnwindState *state, uint64_t *addresses, int limit, bool *truncated);

}  // namespace slurmscope
