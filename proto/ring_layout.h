// Where the three rings of a RingFile lie, for the side that makes the file and the side that must not
// believe it. libc only, no allocation, no locks; signal-safe.
#pragma once

#include "proto/ring.h"

namespace slurmscope {

struct RingLayout {
  uint64_t event_offset, event_count;
  uint64_t definition_offset, definition_bytes;
  uint64_t sample_offset, sample_bytes;
  uint64_t file_bytes;
};

/// The layout of a ring with `event_count` events and so many bytes of definitions and samples, each a power
/// of two; `sample_bytes` 0: no samples.
constexpr RingLayout make_ring_layout(uint64_t event_count, uint64_t definition_bytes, uint64_t sample_bytes) {
  RingLayout layout{};
  layout.event_offset = kRingHeaderBytes;
  layout.event_count = event_count;
  layout.definition_offset = layout.event_offset + event_count * sizeof(Event);
  layout.definition_bytes = definition_bytes;
  layout.sample_offset = layout.definition_offset + layout.definition_bytes;
  layout.sample_bytes = sample_bytes;
  layout.file_bytes = layout.sample_offset + layout.sample_bytes;
  return layout;
}

constexpr bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// True if [offset, offset + bytes) lies behind the header and inside a file of `file_bytes`, 8-byte aligned.
constexpr bool fits_ring_file(uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
  return offset >= kRingHeaderBytes && offset % 8 == 0 && offset <= file_bytes && bytes <= file_bytes - offset;
}

/// True if every ring that `layout` names lies inside a file of `file_bytes`.
constexpr bool is_valid_ring_layout(const RingLayout &layout, uint64_t file_bytes) {
  return is_power_of_two(layout.event_count) && layout.event_count <= file_bytes / sizeof(Event) &&
         layout.event_offset % alignof(Event) == 0 &&
         fits_ring_file(layout.event_offset, layout.event_count * sizeof(Event), file_bytes) &&
         is_power_of_two(layout.definition_bytes) && layout.definition_bytes >= sizeof(DefinitionHeader) &&
         fits_ring_file(layout.definition_offset, layout.definition_bytes, file_bytes) &&
         (layout.sample_bytes == 0 ||
          (is_power_of_two(layout.sample_bytes) && layout.sample_bytes >= sizeof(DefinitionHeader) &&
           fits_ring_file(layout.sample_offset, layout.sample_bytes, file_bytes)));
}

}  // namespace slurmscope
