// The column layout of Events (slurmscope.proto), both directions. See event_columns.h.
#include "proto/event_columns.h"

#include <cstring>

#include "proto/slurmscope.pb.h"

namespace slurmscope {
namespace {

using Fields = v1::Events;
constexpr uint32_t kWireVarint = 0, kWireFixed64 = 1, kWireBytes = 2, kWireFixed32 = 5;

uint64_t zigzag(uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }
uint64_t unzigzag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }
uint64_t zigzag32(uint32_t value) { return (value << 1) ^ (0u - (value >> 31)); }

uint8_t *put_varint(uint8_t *to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<uint8_t>(value);
  return to;
}

void append_varint(std::string *out, uint64_t value) {
  uint8_t bytes[10];
  out->append(reinterpret_cast<char *>(bytes), static_cast<size_t>(put_varint(bytes, value) - bytes));
}

// A varint from [*at, end); false if it is cut or longer than 64 bits.
bool get_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  const uint8_t *from = *at;
  if (from != end && *from < 0x80) {  // most values of most columns
    *value = *from;
    *at = from + 1;
    return true;
  }
  uint64_t result = 0;
  for (uint32_t shift = 0; shift < 64 && from != end; shift += 7) {
    uint8_t byte = *from++;
    if (shift == 63 && byte > 1) return false;
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      *at = from;
      return true;
    }
  }
  return false;
}

// Calls store(row, value) for each value of a packed column; false unless there is one for each row.
template <typename Store>
bool get_column(std::string_view packed, std::vector<TraceEvent> *rows, Store store) {
  auto at = reinterpret_cast<const uint8_t *>(packed.data());
  const uint8_t *end = at + packed.size();
  for (TraceEvent &row : *rows) {
    uint64_t value;
    if (!get_varint(&at, end, &value)) return false;
    store(row, value);
  }
  return at == end;
}

}  // namespace

template <typename Column>
void EventColumnsEncoder::put_column(uint32_t field, std::span<const TraceEvent> rows, Column column,
                                     bool is_always_present) {
  uint8_t *start = values_.data(), *to = start;
  uint64_t any = 0;
  for (const TraceEvent &row : rows) {
    uint64_t value = column(row);
    any |= value;
    to = put_varint(to, value);
  }
  if (any == 0 && !is_always_present) return;
  append_varint(&body_, field << 3 | kWireBytes);
  append_varint(&body_, static_cast<uint64_t>(to - start));
  body_.append(reinterpret_cast<char *>(start), static_cast<size_t>(to - start));
}

void EventColumnsEncoder::append(uint32_t process, uint32_t thread, std::span<const TraceEvent> rows,
                                 std::string *out) {
  if (values_.size() < rows.size() * 10) values_.resize(rows.size() * 10);
  body_.clear();
  auto put_number = [this](uint32_t field, uint64_t value) {
    append_varint(&body_, field << 3 | kWireVarint);
    append_varint(&body_, value);
  };
  put_number(Fields::kProcessFieldNumber, process);
  put_number(Fields::kThreadFieldNumber, thread);
  put_number(Fields::kCountFieldNumber, rows.size());
  put_number(Fields::kFirstStartFieldNumber, rows[0].start);
  uint64_t before = rows[0].start;
  auto start_delta = [&before](const TraceEvent &row) {
    uint64_t delta = row.start - before;
    before = row.start;
    return zigzag(delta);
  };
  // Always present, so that a packet of n rows has at least n bytes: no file of a few bytes can claim
  // a billion rows.
  put_column(Fields::kStartDeltaFieldNumber, rows, start_delta, true);
  put_column(Fields::kDurationFieldNumber, rows, [](auto &row) { return row.end - row.start; }, false);
  put_column(Fields::kCallFieldNumber, rows, [](auto &row) -> uint64_t { return row.call; }, false);
  put_column(Fields::kKindFieldNumber, rows, [](auto &row) { return static_cast<uint64_t>(row.kind); }, false);
  put_column(Fields::kFlagsFieldNumber, rows, [](auto &row) -> uint64_t { return row.flags; }, false);
  put_column(Fields::kSiteFieldNumber, rows, [](auto &row) -> uint64_t { return row.site; }, false);
  put_column(Fields::kBytesFieldNumber, rows, [](auto &row) { return row.bytes; }, false);
  put_column(Fields::kPeerPlus1FieldNumber, rows,
             [](auto &row) { return zigzag32(static_cast<uint32_t>(row.peer) + 1); }, false);
  put_column(Fields::kTagFieldNumber, rows, [](auto &row) { return zigzag32(static_cast<uint32_t>(row.tag)); }, false);
  put_column(Fields::kObjectFieldNumber, rows, [](auto &row) -> uint64_t { return row.object; }, false);
  put_column(Fields::kRequestFieldNumber, rows, [](auto &row) { return row.request; }, false);
  put_column(Fields::kOffsetPlus1FieldNumber, rows,
             [](auto &row) { return zigzag(static_cast<uint64_t>(row.offset) + 1); }, false);

  uint8_t length[10];
  auto length_size = static_cast<size_t>(put_varint(length, body_.size()) - length);
  constexpr uint32_t kEventsTag = v1::Packet::kEventsFieldNumber << 3 | kWireBytes;
  append_varint(out, v1::Trace::kPacketFieldNumber << 3 | kWireBytes);
  append_varint(out, 1 + length_size + body_.size());  // the events tag is one byte
  static_assert(kEventsTag < 0x80);
  append_varint(out, kEventsTag);
  append_varint(out, body_.size());
  out->append(body_);
}

const char *decode_event_columns(std::string_view body, uint32_t *process, uint32_t *thread,
                                 std::vector<TraceEvent> *rows) {
  auto at = reinterpret_cast<const uint8_t *>(body.data());
  const uint8_t *end = at + body.size();
  uint64_t count = 0, first_start = 0;
  *process = *thread = 0;
  constexpr uint32_t kColumns = Fields::kOffsetPlus1FieldNumber + 1;
  std::string_view columns[kColumns];
  bool has_column[kColumns] = {};
  while (at != end) {
    uint64_t tag, value;
    if (!get_varint(&at, end, &tag)) return "an Events packet is malformed";
    uint64_t field = tag >> 3;
    switch (tag & 7) {
      case kWireVarint:
        if (!get_varint(&at, end, &value)) return "an Events packet is malformed";
        if (field == Fields::kProcessFieldNumber) *process = static_cast<uint32_t>(value);
        if (field == Fields::kThreadFieldNumber) *thread = static_cast<uint32_t>(value);
        if (field == Fields::kCountFieldNumber) count = value;
        if (field == Fields::kFirstStartFieldNumber) first_start = value;
        if (field >= Fields::kStartDeltaFieldNumber && field < kColumns) return "an Events column is not packed";
        break;
      case kWireBytes:
        if (!get_varint(&at, end, &value) || value > static_cast<uint64_t>(end - at))
          return "an Events packet is malformed";
        if (field >= Fields::kStartDeltaFieldNumber && field < kColumns) {
          if (has_column[field]) return "an Events column comes twice";
          has_column[field] = true;
          columns[field] = {reinterpret_cast<const char *>(at), static_cast<size_t>(value)};
        }
        at += value;
        break;
      case kWireFixed64:
        if (end - at < 8) return "an Events packet is malformed";
        at += 8;
        break;
      case kWireFixed32:
        if (end - at < 4) return "an Events packet is malformed";
        at += 4;
        break;
      default:
        return "an Events packet is malformed";
    }
  }
  if (count > kMaxRowsPerPacket) return "an Events packet claims too many rows";
  // The one column that is always there bounds the rows by the bytes present.
  if (count > columns[Fields::kStartDeltaFieldNumber].size()) return "an Events packet has fewer values than rows";
  rows->assign(count, TraceEvent{});

  bool is_whole = true;
  auto take = [&](uint32_t field, auto store) {
    if (has_column[field]) is_whole = get_column(columns[field], rows, store) && is_whole;
  };
  uint64_t start = first_start;
  bool has_known_kinds = true;
  take(Fields::kStartDeltaFieldNumber, [&start](TraceEvent &row, uint64_t value) {
    start += unzigzag(value);
    row.start = row.end = start;
  });
  take(Fields::kDurationFieldNumber, [](TraceEvent &row, uint64_t value) { row.end = row.start + value; });
  take(Fields::kCallFieldNumber, [](TraceEvent &row, uint64_t value) { row.call = static_cast<uint32_t>(value); });
  take(Fields::kKindFieldNumber, [&has_known_kinds](TraceEvent &row, uint64_t value) {
    has_known_kinds = has_known_kinds && value <= UINT8_MAX;
    row.kind = static_cast<RowKind>(value);
  });
  take(Fields::kFlagsFieldNumber, [](TraceEvent &row, uint64_t value) { row.flags = static_cast<uint16_t>(value); });
  take(Fields::kSiteFieldNumber, [](TraceEvent &row, uint64_t value) { row.site = static_cast<uint32_t>(value); });
  take(Fields::kBytesFieldNumber, [](TraceEvent &row, uint64_t value) { row.bytes = value; });
  take(Fields::kPeerPlus1FieldNumber, [](TraceEvent &row, uint64_t value) {
    row.peer = static_cast<int32_t>(static_cast<uint32_t>(unzigzag(value)) - 1);
  });
  take(Fields::kTagFieldNumber, [](TraceEvent &row, uint64_t value) {
    row.tag = static_cast<int32_t>(static_cast<uint32_t>(unzigzag(value)));
  });
  take(Fields::kObjectFieldNumber, [](TraceEvent &row, uint64_t value) { row.object = static_cast<uint32_t>(value); });
  take(Fields::kRequestFieldNumber, [](TraceEvent &row, uint64_t value) { row.request = value; });
  take(Fields::kOffsetPlus1FieldNumber, [](TraceEvent &row, uint64_t value) {
    row.offset = static_cast<int64_t>(unzigzag(value) - 1);
  });
  if (!is_whole) return "an Events column has fewer or more values than rows";
  if (!has_known_kinds) return "an Events row has an impossible kind";
  return nullptr;
}

}  // namespace slurmscope
