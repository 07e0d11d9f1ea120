// Checks one trace file against itself; used by `slurmscope verify` and by tests.
#pragma once

#include <string>
#include <vector>

#include "tools/model/stream.h"

namespace slurmscope {

struct FileCheck {
  std::string path;
  TraceDamage damage;
  bool has_index = false, has_end = false, clean_end = false;
  uint64_t frames = 0, packets = 0, rows = 0, processes = 0;
  /// Whether summaries were recomputed from events, and if not, why.
  bool recomputed = false;
  std::string not_recomputed;
  /// What is wrong, each a sentence. Empty = the file is good.
  std::vector<std::string> problems;
  bool good() const { return problems.empty(); }
};

/// Reads all of `path`: frames and checksums, columns, definitions before use, index, summary against
/// events. Throws Error only if the file cannot be opened or is no trace.
FileCheck verify_file(const std::string &path);

/// Where two summaries of one process differ, field by field; empty = they are equal. At most `limit` differences are listed. `ordered`: also what depends on the order of accesses
/// to a file, which is only defined for a process with one thread.
std::vector<std::string> summary_differences(const Summary &summary, const Summary &recomputed, const Stream &stream, bool ordered,
                                             size_t limit);

}  // namespace slurmscope
