// The trace file of one drainer: created late and exclusively, extended in all-or-nothing steps.
//
// A step (commit) must be either wholly in the file and released to the producers, or neither, even if
// the drainer is killed in between. So the sizes before and after and the new tails are written to
// SPOOL/commit first; a successor compares them with the file's size. Single-threaded. SIGXFSZ must be
// ignored.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "proto/sink.h"
#include "profiler/drain/ring_view.h"
#include "profiler/drain/spool.h"

namespace slurmscope {

/// What SPOOL/commit says: where the file and the rings stand.
struct CommitRecord {
  std::string file;                               // path of the trace; "" none yet
  uint64_t size_before = 0, size_after = 0;
  uint32_t slot_before = 0, slot_after = 0;       // which checkpoint file belongs to which size
  bool is_pending = false;
  std::map<std::string, RingView::Tails> tails;   // by ring file name
  std::string serialize() const;
  static CommitRecord parse(const std::string &text);
};

/// Collects frames in memory until they are committed.
class OutputFile : public Sink {
 public:
  explicit OutputFile(const Spool *spool) : spool_(spool) {}
  void append(const void *data, size_t size) override { pending_.append(static_cast<const char *>(data), size); }

  bool is_open() const { return static_cast<bool>(file_); }
  const std::string &path() const { return path_; }
  uint64_t size() const { return size_; }
  uint64_t pending_bytes() const { return pending_.size(); }

  /// Makes `directory` and its parents (0700) and a new file `base`.sst in it (0600), or `base`.2.sst ...
  /// Throws Error naming the directory and the reason.
  void create(const std::string &directory, const std::string &base);
  /// Opens what a predecessor made and cuts it to `size`.
  void reopen(const std::string &path, uint64_t size);
  /// Goes on with the first `size` bytes of what a predecessor made, in a copy of it in `directory` (made if missing,
  /// created as create() does), or in the file itself if it lies there.
  void copy(const std::string &path, uint64_t size, const std::string &directory);
  /// Writes what was appended. Throws Error, with the file cut back to its old size; in any case nothing is
  /// pending afterwards.
  void commit();
  void discard() { pending_.clear(); }
  /// Removes the file, if create() or copy() made it.
  void remove_created();
  /// Syncs and closes.
  void close();

 private:
  const Spool *spool_;
  Descriptor file_;
  std::string path_;
  std::string pending_;
  uint64_t size_ = 0;
  bool is_created_ = false;
};

}  // namespace slurmscope
