// Memory of the I/O tables: mapped when it is first needed, and zeroed in a fork's child.
//
// Used by descriptor_table.cc, path_table.cc and file_table.cc. A block is published with a compare-and-swap
// and lives as long as the process; a child inherits the pointer and sees zeros behind it. Any thread, any
// signal handler; no locks, no errno.
#pragma once

#include <atomic>
#include <cstddef>

#include "profiler/preload/raw_syscall.h"

namespace slurmscope {

/// NULL: no memory, or a kernel that cannot wipe pages on fork (before 4.14).
inline void *map_table_memory(size_t size) {
  void *memory = raw::map_memory(size);
  if (memory == nullptr) return nullptr;
  if (!raw::wipe_on_fork(memory, size)) {
    raw::unmap(memory, size);
    return nullptr;
  }
  raw::unlock(memory, size);  // after mlockall(MCL_FUTURE) it would count against the application's limit
  raw::avoid_huge_pages(memory, size);
  return memory;
}

/// The block behind `place`, made if `may_make`; NULL: there is none.
template <typename Block> Block *lazy_block(std::atomic<Block *> &place, size_t size, bool may_make = true) {
  Block *block = place.load(std::memory_order_acquire);
  if (block != nullptr || !may_make) return block;
  void *memory = map_table_memory(size);
  if (memory == nullptr) return nullptr;
  if (place.compare_exchange_strong(block, static_cast<Block *>(memory), std::memory_order_acq_rel))
    return static_cast<Block *>(memory);
  raw::unmap(memory, size);
  return block;
}

}  // namespace slurmscope
