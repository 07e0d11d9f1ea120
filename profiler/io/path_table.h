// The hash table from path to file id, for file_table.cc: it grows, and never moves what it holds.
//
// Threading: atomics, no locks. A path is known by its 64-bit hash alone. Allocation: mmap when a level is
// first needed. In a fork's child it is empty.
#pragma once

#include <atomic>
#include <cstdint>

namespace slurmscope {

enum PathState : uint32_t { kIsNew = 0, kIsDefined = 1, kIsLost = 2 };

struct PathSlot {
  std::atomic<uint64_t> hash;  // 0: free
  std::atomic<uint32_t> id;    // 0: being given
  std::atomic<uint32_t> state; // PathState
};

/// The slot of `hash`; if there is none, a new one if `may_add`, which then belongs to the caller until it
/// has given it an id (`*is_new`). NULL: none, or no room.
PathSlot *find_path(uint64_t hash, bool may_add, bool *is_new);

}  // namespace slurmscope
