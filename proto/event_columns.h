// Rows to and from one Events packet, column by column. Called by the trace writer and reader only.
//
// By hand rather than through the generated classes: a row must cost about ten nanoseconds to write,
// and a hostile packet must not make the reader allocate what it merely claims. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace_event.h"

namespace slurmscope {

/// Most rows in one packet that a reader accepts.
constexpr uint64_t kMaxRowsPerPacket = 1 << 20;

class EventColumnsEncoder {
 public:
  /// Appends to `out` one Trace.packet field that holds `rows` (at least one) as an Events packet.
  void append(uint32_t process, uint32_t thread, std::span<const TraceEvent> rows, std::string *out);

 private:
  template <typename Column>
  void put_column(uint32_t field, std::span<const TraceEvent> rows, Column column, bool is_always_present);
  std::vector<uint8_t> values_;  // of one column
  std::string body_;
};

/// Decodes the body of an Events message. On success returns NULL; otherwise says what is wrong, and
/// `rows` means nothing.
const char *decode_event_columns(std::string_view body, uint32_t *process, uint32_t *thread,
                                 std::vector<TraceEvent> *rows);

}  // namespace slurmscope
