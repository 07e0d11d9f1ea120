// Prints what the rings of a spool directory hold, for the tests of this folder. No drainer needed.
//
// usage: ring_dump SPOOL
// One line per I/O event: `<process> <call> fd=<n> bytes=<n> offset=<n> <errno or ok> <path>`, processes
// numbered in the order of their pids, threads of a process one after another. Paths are looked up as
// the drainer does; then `<process> LOST reason=<n> count=<n>`. Exits 1 if an event names a file that nobody defined, or an end is before its start.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "profiler/preload/call_table.h"
#include "proto/ring.h"

using namespace slurmscope;

namespace {

constexpr size_t kReasons = static_cast<size_t>(LossReason::kCount);
using Losses = std::array<uint64_t, kReasons>;

void print_losses(size_t process, const Losses &losses) {
  for (size_t reason = 0; reason < kReasons; reason++)
    if (losses[reason] != 0)
      printf("%zu LOST reason=%zu count=%llu\n", process, reason, static_cast<unsigned long long>(losses[reason]));
}

/// What threads without a ring, or between their events, counted.
void add_process_losses(const std::string &path, Losses *losses) {
  ProcessFile process;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, static_cast<void *>(&process), sizeof process) == sizeof process)
    for (size_t reason = 0; reason < kReasons; reason++) (*losses)[reason] += process.lost[reason];
  close(fd);
}

const RingFile *map_ring(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return nullptr;
  void *memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<const RingFile *>(memory);
}

void read_definitions(const RingFile *ring, std::map<uint64_t, std::string> *files, std::vector<std::string> *notes) {
  auto *bytes = reinterpret_cast<const uint8_t *>(ring) + ring->definition_offset;
  for (uint64_t at = 0; at < ring->definitions.head;) {
    auto *header = reinterpret_cast<const DefinitionHeader *>(bytes + (at & (ring->definition_bytes - 1)));
    if (header->kind == DefinitionKind::kFile) {
      auto *file = reinterpret_cast<const FileDefinition *>(header);
      (*files)[file->id].assign(reinterpret_cast<const char *>(file + 1), file->path_size);
    } else if (header->kind == DefinitionKind::kNote) {
      auto *note = reinterpret_cast<const NoteDefinition *>(header);
      notes->emplace_back(reinterpret_cast<const char *>(note + 1), note->text_size);
    }
    at += header->size;
  }
}

bool print_events(const RingFile *ring, size_t process, const std::map<uint64_t, std::string> &files) {
  auto *events = reinterpret_cast<const Event *>(reinterpret_cast<const uint8_t *>(ring) + ring->event_offset);
  bool is_right = true;
  for (uint64_t at = 0; at < ring->events.head; at++) {
    const Event &event = events[at & (ring->event_count - 1)];
    if (kCallTable[event.call].call_class < CallClass::kOpen) continue;  // MPI
    auto file = files.find(event.object);
    const char *path = event.object == 0 ? "-" : file == files.end() ? "UNDEFINED" : file->second.c_str();
    if ((event.object != 0 && file == files.end()) || event.end < event.start) is_right = false;
    printf("%zu %s fd=%d bytes=%llu offset=%lld %s %s\n", process, kCallTable[event.call].name, event.peer,
           static_cast<unsigned long long>(event.bytes), static_cast<long long>(event.offset),
           event.flags & kEventFailed ? strerrorname_np(event.tag) : "ok", path);
  }
  return is_right;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: ring_dump SPOOL\n");
    return 2;
  }
  DIR *directory = opendir(argv[1]);
  if (directory == nullptr) {
    fprintf(stderr, "ring_dump: couldn't open %s: %s\n", argv[1], strerror(errno));
    return 1;
  }
  // pid -> ring number -> ring
  std::map<unsigned, std::map<unsigned, const RingFile *>> processes;
  std::map<unsigned, Losses> losses;
  while (dirent *entry = readdir(directory)) {
    unsigned pid, number, index;
    if (sscanf(entry->d_name, "proc-%u-%u", &pid, &number) == 2)
      add_process_losses(std::string(argv[1]) + "/" + entry->d_name, &losses[pid]);
    if (sscanf(entry->d_name, "ring-%u-%u-%u", &pid, &number, &index) != 3) continue;
    const RingFile *ring = map_ring(std::string(argv[1]) + "/" + entry->d_name);
    if (ring == nullptr || ring->ready != 1 || ring->magic != kRingMagic) {
      fprintf(stderr, "ring_dump: %s is no ring\n", entry->d_name);
      return 1;
    }
    processes[pid][index] = ring;
  }
  closedir(directory);
  bool is_right = true;
  size_t process = 0;
  for (auto &[pid, rings] : processes) {
    process++;
    std::map<uint64_t, std::string> files;
    std::vector<std::string> notes;
    for (auto &[index, ring] : rings) read_definitions(ring, &files, &notes);
    for (auto &[index, ring] : rings) {
      if (!print_events(ring, process, files)) is_right = false;
      for (size_t reason = 0; reason < kReasons; reason++) losses[pid][reason] += ring->lost[reason];
    }
    print_losses(process, losses[pid]);
    for (const std::string &note : notes) printf("%zu NOTE %s\n", process, note.c_str());
  }
  return is_right ? 0 : 1;
}
