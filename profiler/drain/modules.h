// The executable objects of a process, so that addresses can be resolved after it is gone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/slurmscope.pb.h"

namespace slurmscope {

/// Hex build id in the notes of an ELF file; "" if it has none or cannot be read.
std::string read_build_id(const std::string &path);

/// Executable mappings in the text of a /proc/<pid>/maps: start, end, offset, path.
std::vector<v1::Module> parse_maps(const std::string &text);

/// What is known of one process's mappings.
class ModuleList {
 public:
  /// Reads /proc/<pid>/maps; returns what was not known yet, complete with build ids.
  std::vector<v1::Module> refresh(uint32_t pid);
  bool contains(uint64_t address) const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // start -> end
};

}  // namespace slurmscope
