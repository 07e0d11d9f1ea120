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
  uint64_t inode = 0;                             // of the file that was made there
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
  void append(const void *data, size_t size) override { pending_.append(static_cast<const char *>(data), size); }

  bool is_open() const { return static_cast<bool>(file_); }
  const std::string &path() const { return path_; }
  uint64_t inode() const { return inode_; }
  uint64_t size() const { return size_; }
  uint64_t pending_bytes() const { return pending_.size(); }

  /// Who else may read what create() makes; to be said before. "": nobody.
  void set_group(const std::string &name) { group_ = name; }
  /// Why the group could not be given the files; "": it was.
  const std::string &group_trouble() const { return group_trouble_; }
  /// Makes `directory` and its parents (0700) and a new file `base`.sst in it (0600), or `base`.2.sst ...; with a
  /// group 0750 and 0640, where that can be had. Links of other users are not followed. Throws Error naming the
  /// directory and the reason.
  void create(const std::string &directory, const std::string &base);
  /// Opens what a predecessor made and cuts it to `size`. Throws Error if it is not that file any more.
  void reopen(const std::string &path, uint64_t inode, uint64_t size);
  /// Goes on with the first `size` bytes of what a predecessor made, in a copy of it in `directory` (made if missing,
  /// created as create() does), or in the file itself if it lies there.
  void copy(const std::string &path, uint64_t inode, uint64_t size, const std::string &directory);
  /// Writes what was appended. Throws Error, with the file cut back to its old size, also if the file was deleted;
  /// in any case nothing is pending afterwards.
  void commit();
  void discard() { pending_.clear(); }
  /// Removes the file, if create() or copy() made it.
  void remove_created();
  /// Syncs and closes.
  void close();

 private:
  Descriptor file_;
  std::string path_;
  std::string group_, group_trouble_;
  uint64_t inode_ = 0;
  std::string pending_;
  uint64_t size_ = 0;
  bool is_created_ = false;
};

/// Size of all files named *.`host`.*sst in `directory`: what earlier steps of the job have left there.
uint64_t trace_bytes_of(const std::string &directory, const std::string &host);

}  // namespace slurmscope
