// Frames of a file back into packets. Every file is hostile: lengths, counts and frames are checked,
// memory is bounded, and whatever precedes the damage is delivered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"

namespace slurmscope {

/// What was wrong with a file, if anything.
struct TraceDamage {
  bool damaged = false;
  uint64_t offset = 0;      // of the first frame that could not be read
  std::string reason;       // "cut inside a frame", "checksum mismatch", ...
  uint64_t frames = 0;      // whole frames before it
};

struct TraceVisitor {
  /// Each packet that is not Events, in file order.
  std::function<void(const v1::Packet &)> packet;
  /// Rows of one Events packet. Leave empty to skip decoding them.
  std::function<void(uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows)> events;
};

/// Reads all of `path`. Throws Error only if it cannot be opened, is no trace at all, or needs a newer
/// reader (the message names both versions); damage further in is returned.
TraceDamage read_trace(const std::string &path, const TraceVisitor &visitor);
/// The same over bytes in memory; `name` is used in messages.
TraceDamage read_trace_bytes(const std::string &name, std::string_view bytes, const TraceVisitor &visitor);

}  // namespace slurmscope
