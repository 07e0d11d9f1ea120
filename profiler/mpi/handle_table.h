// What the process remembers of the communicators, windows and files behind handles.
//
// Used by communicators.cc and mpi_io.cc. Open addressing over atomics in zeroed memory of the backend;
// handles of living objects are unique, so each entry has one writer at a time. Any thread; no lock, no
// allocation. A full table refuses further entries: that costs names, never correctness.
#pragma once

#include <atomic>
#include <cstdint>

namespace slurmscope {

inline uint32_t handle_slot(uint64_t handle) { return static_cast<uint32_t>((handle * 0x9e3779b97f4a7c15u) >> 40); }

template <typename Value, uint32_t kSlots> class HandleTable {
 public:
  struct Entry {
    std::atomic<uint64_t> handle;  // 0 = never used, kRemoved
    Value value;                   // atomics
  };
  /// NULL if the handle is not there.
  Entry *find(uint64_t handle) {
    if (handle == 0) return nullptr;
    uint32_t slot = handle_slot(handle) % kSlots;
    for (uint32_t probe = 0; probe < kSlots; probe++, slot = (slot + 1) % kSlots) {
      uint64_t found = entries_[slot].handle.load(std::memory_order_acquire);
      if (found == handle) return &entries_[slot];
      if (found == 0) return nullptr;
    }
    return nullptr;
  }
  /// The entry of a handle, made if need be, its value as the last owner left it (who may have freed the
  /// handle where it was not seen: in a callback of another call). NULL: full, or nothing that an MPI
  /// would give (0).
  Entry *put(uint64_t handle) {
    if (handle == 0) return nullptr;
    if (Entry *known = find(handle)) return known;
    uint32_t slot = handle_slot(handle) % kSlots;
    for (uint32_t probe = 0; probe < kSlots; probe++, slot = (slot + 1) % kSlots) {
      uint64_t found = entries_[slot].handle.load(std::memory_order_acquire);
      if (found != 0 && found != kRemoved) continue;
      if (entries_[slot].handle.compare_exchange_strong(found, handle, std::memory_order_acq_rel)) return &entries_[slot];
    }
    return nullptr;
  }
  static void remove(Entry *entry) { entry->handle.store(kRemoved, std::memory_order_release); }

 private:
  static constexpr uint64_t kRemoved = ~uint64_t{0};
  Entry entries_[kSlots];
};

}  // namespace slurmscope
