// See path_table.h.
#include "profiler/io/path_table.h"

#include <cstddef>

#include "profiler/io/lazy_memory.h"

namespace slurmscope {
namespace {

// Levels of doubling size. A hash lies in the first level whose window had room when it came, and windows
// never become less full: a free slot in a window says that later levels do not have it either.
constexpr uint32_t kLevels = 8, kFirstLevelSlots = 1024, kWindow = 16;
std::atomic<PathSlot *> levels[kLevels];

}  // namespace

PathSlot *find_path(uint64_t hash, bool may_add, bool *is_new) {
  *is_new = false;
  for (uint32_t level = 0; level < kLevels; level++) {
    size_t slots = size_t{kFirstLevelSlots} << level;
    PathSlot *first = lazy_block(levels[level], slots * sizeof(PathSlot), may_add);
    if (first == nullptr) return nullptr;
    for (uint32_t probe = 0; probe < kWindow; probe++) {
      PathSlot *slot = first + ((hash + probe) & (slots - 1));
      uint64_t found = slot->hash.load(std::memory_order_acquire);
      if (found == 0) {
        if (!may_add) return nullptr;
        if (slot->hash.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
          *is_new = true;
          return slot;
        }
      }
      if (found == hash) return slot;
    }
  }
  return nullptr;
}

}  // namespace slurmscope
