// Where the calling thread's own stack lies, so that words on it can be read without a system call.
//
// Called by call_paths.cc once per thread. No lock, no allocation, no errno; async-signal-safe.
#pragma once

#include <cstdint>

namespace slurmscope {

/// Every address from the thread's stack pointer up to `high` can be read while the stack pointer is in
/// [low, high): nothing but the stack is mapped there as long as the thread lives.
struct OwnStack {
  uint64_t low, high;
  bool contains(uint64_t address) const { return address >= low && address < high; }
};

/// The stack that the thread got from the kernel or from pthread_create(), also if it runs on another one
/// (coroutine, alternate signal stack) just now. Empty if it cannot be told.
OwnStack find_own_stack();

}  // namespace slurmscope
