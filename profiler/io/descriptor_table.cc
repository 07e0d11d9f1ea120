// Descriptor -> file id, in chunks of a page; see file_table.h for the rules.
//
// Atomics, no locks; a chunk is mapped when one of its descriptors is first set.
#include "profiler/io/file_table.h"
#include "profiler/io/lazy_memory.h"

namespace slurmscope {
namespace {

constexpr unsigned kChunkEntries = 1024, kChunks = 1024;  // descriptors above are recorded without a file

struct Chunk {
  std::atomic<uint32_t> entries[kChunkEntries];
};
std::atomic<Chunk *> chunks[kChunks];

std::atomic<uint32_t> *entry_of(int fd, bool may_make) {
  unsigned number = static_cast<unsigned>(fd);
  if (number >= kChunkEntries * kChunks) return nullptr;
  Chunk *chunk = lazy_block(chunks[number / kChunkEntries], sizeof(Chunk), may_make);
  return chunk != nullptr ? &chunk->entries[number % kChunkEntries] : nullptr;
}

}  // namespace

uint32_t known_file_of_descriptor(int fd) {
  std::atomic<uint32_t> *entry = entry_of(fd, false);
  return entry != nullptr ? entry->load(std::memory_order_relaxed) : kNoFile;
}

void learn_descriptor(int fd, uint32_t file) {
  std::atomic<uint32_t> *entry = entry_of(fd, true);
  // Not a plain store: the application may have opened something else under this number meanwhile.
  uint32_t unknown = kNoFile;
  if (entry != nullptr) entry->compare_exchange_strong(unknown, file, std::memory_order_relaxed);
}

void set_descriptor(int fd, uint32_t file) {
  std::atomic<uint32_t> *entry = entry_of(fd, file != kNoFile);
  if (entry == nullptr || (file == kNoFile && entry->load(std::memory_order_relaxed) == kNoFile)) return;
  entry->store(file, std::memory_order_relaxed);
}

void copy_descriptor(int fd, int copy) { set_descriptor(copy, known_file_of_descriptor(fd)); }

void forget_descriptors(unsigned first, unsigned last) {
  for (unsigned chunk = first / kChunkEntries; chunk < kChunks && chunk <= last / kChunkEntries; chunk++) {
    if (chunks[chunk].load(std::memory_order_acquire) == nullptr) continue;
    for (unsigned entry = 0; entry < kChunkEntries; entry++) {
      unsigned fd = chunk * kChunkEntries + entry;
      if (fd >= first && fd <= last) set_descriptor(static_cast<int>(fd), kNoFile);
    }
  }
}

}  // namespace slurmscope
