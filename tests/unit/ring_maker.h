// A spool with processes and rings as the preload makes them, for tests of the drainer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/ring.h"
#include "proto/ring_layout.h"

namespace slurmscope::test {

/// A temporary directory that is removed with what is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

/// A file mapped shared.
class MappedFile {
 public:
  MappedFile(const std::string &path, size_t size);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  void *memory() const { return memory_; }

 private:
  void *memory_;
  size_t size_;
};

/// The producer's side of one ring.
class RingMaker {
 public:
  RingMaker(const std::string &path, uint64_t event_count, bool has_samples);
  RingFile *file() const { return static_cast<RingFile *>(mapping_.memory()); }
  /// Publishes one event; false if there is no room.
  bool push(const Event &event);
  /// Publishes one record of the definition or sample ring, padded as the producer does. False: no room.
  bool define(std::vector<uint8_t> record);
  bool sample(std::vector<uint8_t> record);

 private:
  bool put(RingCursor *cursor, uint64_t offset, uint64_t bytes, std::vector<uint8_t> record);
  RingLayout layout_;
  MappedFile mapping_;
};

/// One spool. Its step.info names `output`/t.sst.
class SpoolMaker {
 public:
  explicit SpoolMaker(const std::string &settings = "trace");
  const std::string &path() const { return directory_.path(); }
  std::string output() const { return output_directory_.path() + "/out"; }
  std::string trace() const { return output() + "/t.sst"; }

  /// Makes proc-<pid>-<number> of a rank; `pid` should be of a living process to be seen as such.
  ProcessFile *add_process(uint32_t pid, uint32_t number, int32_t rank, int32_t world_size, int32_t local_size);
  RingMaker *add_ring(uint32_t pid, uint32_t number, uint32_t index, uint64_t event_count = 1024, bool has_samples = false);
  /// What a producer does whose ring is full: wakes the drainer, if there is one, and rests a moment.
  void wake_drainer();
  void write_file(const std::string &name, const std::string &text) const;

 private:
  TemporaryDirectory directory_, output_directory_;
  std::vector<std::unique_ptr<MappedFile>> processes_;
  std::vector<std::unique_ptr<RingMaker>> rings_;
  DrainState *drain_ = nullptr;
};

std::vector<uint8_t> thread_record(uint64_t time, uint32_t tid, bool is_main);
std::vector<uint8_t> communicator_record(uint64_t time, uint64_t handle, int32_t rank, std::vector<int32_t> members,
                                         std::vector<int32_t> remote = {});
std::vector<uint8_t> communicator_free_record(uint64_t time, uint64_t handle);
std::vector<uint8_t> site_record(uint32_t id, std::vector<uint64_t> addresses);
std::vector<uint8_t> file_record(uint32_t id, const std::string &path);
std::vector<uint8_t> note_record(uint64_t time, const std::string &text);
std::vector<uint8_t> counter_record(uint32_t id, const std::string &name);
std::vector<uint8_t> counter_sample_record(uint64_t time, std::vector<int64_t> values, bool is_last);
std::vector<uint8_t> stack_sample_record(uint64_t time, std::vector<uint64_t> addresses);

/// An event of a call by name, from `start` on, 10 ticks long.
Event call_event(const char *name, uint64_t start);

}  // namespace slurmscope::test
