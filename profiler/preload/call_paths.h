// Call paths: by which way through the program a call came, as a number.
//
// A path is the return addresses from the call to main() or the thread's first function, innermost first. Each thread
// remembers paths by return address and stack pointer, with where on the stack the other return addresses lie: if all
// are still there, it is the same path. Else the stack is unwound, once, and the path gets the process-wide number
// of all threads that took it.
// Called by the recorder in any thread and signal handler, inside a Recording (so never twice at once in a thread).
// No lock, no allocation but mmap at the thread's first use, errno unchanged.
#pragma once

#include "profiler/preload/own_stack.h"
#include "profiler/preload/recorder.h"
#include "profiler/unwind/unwind.h"

namespace slurmscope {

constexpr uint32_t kMaxPathDepth = 32;
constexpr int kPathLineBits = 9;  // a solver (OpenFOAM's icoFoam) has 145 paths in use at once

/// A path that was seen lately from one place at one height of the stack.
struct PathLine {
  uint64_t address, stack;               // CallSite; address 0: empty
  uint32_t id;
  uint32_t depth;                        // of the rest of the path
  uint32_t offsets[kMaxPathDepth - 1];   // from `stack` to where they are saved
  uint64_t addresses[kMaxPathDepth - 1];
};

/// What a thread remembers.
struct CallPaths {
  OwnStack stack;
  PathLine lines[1 << kPathLineBits][2]; // only what is used of it takes memory
  uint8_t oldest[1 << kPathLineBits];    // of each pair: the one to replace next
  UnwindState unwind;
};

/// The id of the path that ends in `site`; 0 if it has none. The return address alone makes the path where the rest
/// cannot be known: on a stack that is not the thread's own, or without unwind information.
uint32_t site_id(CallSite site);

/// Gives the thread's memory back.
void forget_paths(ThreadRecorder *recorder);

}  // namespace slurmscope
