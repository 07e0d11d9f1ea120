// The spool directory of one step on one node: what its starter wrote, and the files that the drainer
// keeps there. Used by the worker, the supervisor and --finish. Single-threaded.
//
// Nothing in it is followed through a link, and it must belong to the user who runs us.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace slurmscope {

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  Descriptor(Descriptor &&other) noexcept : descriptor_(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();
  int get() const { return descriptor_; }
  int release();
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

struct TaskLine {
  uint32_t task;
  uint32_t pid;
  int32_t status;
};

class Spool {
 public:
  /// Opens `path`; throws Error if it is no directory of ours with mode 0700.
  explicit Spool(const std::string &path);

  const std::string &path() const { return path_; }
  int directory() const { return directory_.get(); }
  /// Opens a regular file of ours in it; an empty descriptor with errno set if there is none.
  Descriptor open_file(const std::string &name, int flags) const;
  /// The content of a small file; "" if there is none.
  std::string read_text(const std::string &name) const;
  /// Replaces a small file in one step. False with errno set if that failed.
  bool write_text(const std::string &name, const std::string &text) const;
  bool exists(const std::string &name) const;
  /// Names of the files in it; nothing with errno set if it cannot be read now.
  std::optional<std::vector<std::string>> names() const;
  void remove_file(const std::string &name) const;
  /// Keeps the file `name` under the name `kept` as well, whatever replaces it; false if there is none.
  bool keep_file(const std::string &name, const std::string &kept) const;
  /// Gives a kept file its name back. Needs no room.
  bool restore_file(const std::string &kept, const std::string &name) const;
  /// Removes all files in it and the directory itself.
  void remove() const;

  /// `key=value` lines of step.info.
  std::map<std::string, std::string> step_info() const;
  /// Lines of `tasks` from byte *offset on; advances *offset behind the last whole line.
  std::vector<TaskLine> read_tasks(uint64_t *offset) const;

 private:
  std::string path_;
  Descriptor directory_;
};

constexpr const char kStepInfoName[] = "step.info";
constexpr const char kTasksName[] = "tasks";
constexpr const char kEndName[] = "end";              // made by --finish: the step has ended
constexpr const char kAbandonedName[] = "abandoned";  // made by --finish: nobody waits any more
constexpr const char kLockName[] = "drain.lock";      // locked as long as a supervisor or worker lives
constexpr const char kCommitName[] = "commit";        // CommitRecord of output_file.h
constexpr const char kKeptCommitName[] = "commit.kept";  // what it was before a salvage that may fail
constexpr const char kResultName[] = "result";        // made by the worker: "ok", or what was lost

}  // namespace slurmscope
