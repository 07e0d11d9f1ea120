// What the tests of the recorder share: a spool, a process for each test, and views of its files.
//
// Compiled with the recorder's sources; what lifecycle.cc would read from the environment is set here.
// Each test runs in a process of its own, because the recorder is one per process.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"

namespace slurmscope {

namespace fs = std::filesystem;

#define REQUIRE(condition)                                          \
  do {                                                              \
    if (!(condition)) {                                             \
      dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
      _exit(1);                                                     \
    }                                                               \
  } while (0)

inline std::string spool;

template <typename Body> int in_child(Body body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/dev/shm/slurmscope-test.XXXXXX";
    spool = mkdtemp(path);
    library_state.settings = Settings();
    library_state.settings.ring_kib = 64;  // 1024 events
    library_state.enabled = library_state.records_io = true;
    library_state.loaded = 2;
    strcpy(start_state.spool, spool.c_str());
    start_state.page_is_wiped = raw::wipe_on_fork(&process_state, sizeof(process_state));
  }
  void TearDown() override { fs::remove_all(spool); }
};

inline bool record(uint64_t bytes = 0) {
  Recording recording(kCall_MPI_Send);
  Event *event = recording.finish();
  if (event == nullptr) return false;
  event->bytes = bytes;
  recording.publish();
  return true;
}

template <typename File> File *map(const std::string &name) {
  int fd = open((spool + "/" + name).c_str(), O_RDWR);
  if (fd < 0) return nullptr;
  size_t size = fs::file_size(spool + "/" + name);
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return static_cast<File *>(memory);
}
inline std::string own(const char *prefix, pid_t pid = getpid()) { return prefix + std::to_string(pid) + "-0"; }
inline RingFile *ring(int index = 0, pid_t pid = getpid()) { return map<RingFile>(own("ring-", pid) + "-" + std::to_string(index)); }
inline size_t files() { return static_cast<size_t>(std::distance(fs::directory_iterator(spool), fs::directory_iterator())); }
inline size_t descriptors() {
  return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}
inline uint64_t lost(const RingFile *file, LossReason reason) { return file->lost[static_cast<size_t>(reason)]; }

inline DrainState *make_drain() {
  std::string path = spool + "/drain";
  int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(ftruncate(fd, sizeof(DrainState)) == 0);
  close(fd);
  auto *drain = map<DrainState>("drain");
  drain->heartbeat = 1;
  drain->ready = 1;
  return drain;
}

/// The events that were published, as long as the ring did not go round.
inline std::vector<Event> events_of(RingFile *file) {
  auto *first = reinterpret_cast<Event *>(reinterpret_cast<uint8_t *>(file) + file->event_offset);
  return {first, first + file->events.head};
}

}  // namespace slurmscope
