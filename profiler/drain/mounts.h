// The mounts that a process sees: from a file's mount id or path to the type of its file system.
//
// Read by the drainer from /proc/PID/mountinfo, never by asking the file system itself, which may hang. Single-threaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slurmscope {

struct Mount {
  uint64_t id = 0;
  std::string point, type;
};

class MountTable {
 public:
  /// Takes the text of a mountinfo file. What cannot be understood is passed over.
  void parse(std::string_view text);
  /// Reads /proc/`process`/mountinfo; an empty table if that is not possible.
  void read(const std::string &process);
  bool empty() const { return mounts_.empty(); }
  /// NULL: not here.
  const Mount *find(uint64_t id) const;
  /// The mount that the absolute `path` lies in, going by its text: NULL if it is not absolute.
  const Mount *find_path(std::string_view path) const;

 private:
  std::vector<Mount> mounts_;  // in the order in which they were mounted
};

}  // namespace slurmscope
