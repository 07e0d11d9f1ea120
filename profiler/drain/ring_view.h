// The drainer's side of one RingFile and one ProcessFile. Single-threaded.
//
// The producer is not trusted: sizes come from the file's own size and are read once, positions are
// masked, a record's size is checked before it is used. Content is copied before it is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/ring.h"
#include "proto/ring_layout.h"
#include "profiler/drain/spool.h"

namespace slurmscope {

class RingView {
 public:
  /// NULL if the file is not ready yet, or is no valid ring (then *is_invalid is set).
  static std::unique_ptr<RingView> open(const Spool &spool, const std::string &name, bool *is_invalid);
  ~RingView();
  RingView(const RingView &) = delete;
  RingView &operator=(const RingView &) = delete;

  /// Events published so far; at most a ring's worth ahead of position().
  uint64_t read_head();
  /// True once if a head made no sense and what was in the ring was given up.
  bool take_broken() { return std::exchange(is_broken_, false); }
  /// Where reading goes on: everything before has been taken.
  uint64_t position() const { return position_; }
  uint64_t event_count() const { return layout_.event_count; }
  /// Copy of the event at `position`, which is below the last read_head().
  Event event(uint64_t position) const;
  /// The same, of which only one field is wanted.
  uint64_t end_ticks(uint64_t position) const;
  EventKind kind(uint64_t position) const;
  void take_events_to(uint64_t position) { position_ = position; }
  /// True if one of the rings is at least half full of what was not released yet.
  bool is_half_full() const;
  /// True if something was published that was not taken yet.
  bool has_backlog() const;

  /// True if its thread summed up polls that are no event yet.
  bool has_open_polls() const;
  /// The producer is dead: makes events of them in its place, as far as there is room.
  void publish_open_polls();

  /// Calls `visit` for each whole record in the definition (sample) ring. A malformed record ends the
  /// ring: the rest is passed over and true returned.
  bool take_definitions(const std::function<void(const DefinitionHeader *)> &visit);
  bool take_samples(const std::function<void(const DefinitionHeader *)> &visit);

  /// Positions up to which everything was taken.
  struct Tails { uint64_t events = 0, definitions = 0, samples = 0; };
  Tails taken() const { return {position_, definition_position_, sample_position_}; }
  void set_taken(const Tails &tails);
  /// Gives the room up to `tails` back to the producer.
  void release(const Tails &tails);

  uint64_t stalls() const { return file_->stalls.load(std::memory_order_relaxed); }
  uint64_t stall_ticks() const { return file_->stall_ticks.load(std::memory_order_relaxed); }
  uint64_t lost(size_t reason) const { return file_->lost[reason].load(std::memory_order_relaxed); }

 private:
  RingView(void *memory, size_t size, const RingLayout &layout);
  bool take_records(RingCursor &cursor, uint64_t offset, uint64_t bytes, uint64_t *position,
                    const std::function<void(const DefinitionHeader *)> &visit);

  RingFile *file_;
  size_t size_;
  RingLayout layout_;
  const uint8_t *bytes_;
  uint64_t position_, definition_position_, sample_position_;
  bool is_broken_ = false;
  std::vector<uint8_t> record_;  // copy of the record being visited
};

/// Reads a whole ProcessFile into `copy` (texts terminated); false if it is not there, not ready or not
/// valid (then *is_invalid is set).
bool read_process_file(const Spool &spool, const std::string &name, ProcessFile *copy, bool *is_invalid);

/// The numbers of "proc-<pid>-<n>" and "ring-<pid>-<n>-<k>".
struct RingName { uint32_t pid, number, ring; };
std::optional<RingName> parse_process_name(const std::string &name);
std::optional<RingName> parse_ring_name(const std::string &name);

}  // namespace slurmscope
