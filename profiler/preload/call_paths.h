// Call paths: by which way through the program a call came, as a number.
//
// A path is the return addresses from the call to main() or the thread's first function, innermost first. Its number
// comes from a table of the process, by hash. Each thread remembers for return addresses and stack pointers where on
// the stack the other return addresses lay: if the words there make a path that has a number, that is it. Else the
// stack is unwound.
// Called by the recorder in any thread and signal handler, inside a Recording (so never twice at once in a thread).
// No lock, no allocation but mmap at the thread's first use, errno unchanged.
#pragma once

#include "profiler/preload/own_stack.h"
#include "profiler/preload/recorder.h"
#include "profiler/unwind/unwind.h"

namespace slurmscope {

constexpr uint32_t kMaxPathDepth = 32;
// Calls from several places in a loop share the innermost address and the stack pointer, mostly the layout as well.
constexpr int kLayoutSetBits = 8;
constexpr int kLayoutWays = 4;

/// Where the return addresses of a path lay that ended at one address, at one height of the stack.
struct PathLayout {
  uint64_t address, stack;              // CallSite; address 0: empty
  uint32_t depth;                       // of the rest of the path
  bool is_truncated;
  uint32_t offsets[kMaxPathDepth - 1];  // from `stack`
};

/// What a thread remembers.
struct CallPaths {
  OwnStack stack;
  PathLayout layouts[1 << kLayoutSetBits][kLayoutWays];  // only what is used of it takes memory
  uint8_t oldest[1 << kLayoutSetBits];                   // of each set: the one to replace next
  UnwindState unwind;
};

/// The id of the path that ends in `site`; 0 if it has none. The return address alone makes the path where the rest
/// cannot be known: on a stack that is not the thread's own, or without unwind information.
uint32_t site_id(CallSite site);

/// Gives the thread's memory back.
void forget_paths(ThreadRecorder *recorder);

}  // namespace slurmscope
