// One row of the trace: an event with its handles resolved. The drainer makes rows from ring events,
// the writer encodes them, the reader gives them back, and Summary folds them; so a summary made by
// the drainer and one made from a full trace are the same numbers.
#pragma once

#include <cstdint>

#include "proto/event.h"

namespace slurmscope {

enum class RowKind : uint8_t { kCall = 0, kCompletion = 1, kReceivePart = 2, kPolls = 3, kStartPart = 4 };

constexpr uint16_t kRowFailed = kEventFailed;
constexpr uint16_t kRowCancelled = kEventCancelled;
constexpr uint16_t kRowMessage = kEventMessage;
constexpr uint16_t kRowDirect = kEventDirect;
constexpr uint16_t kRowLocalityShift = 4;  // two bits: enum Locality
constexpr uint16_t kRowLocalityMask = 3 << kRowLocalityShift;

enum class Locality : uint8_t { kUnknown = 0, kSelf = 1, kNode = 2, kOther = 3 };

/// kCall: a call. kCompletion: the end of a request inside the call row before it: `call` and `site`
/// are those of the call that started the request, `start` its start, `end` the end of the completing
/// call; peer, tag and bytes are the message's. kReceivePart: the receiving half of the call before it.
/// kPolls: `request` calls that asked and found nothing, from the start of the first to the end of the
/// last; `offset` ticks of that inside them.
/// kStartPart: one of the requests that the call before it started.
struct TraceEvent {
  uint64_t start = 0;    // ticks
  uint64_t end = 0;
  uint32_t call = 0;     // index into the stream's call table
  RowKind kind = RowKind::kCall;
  uint16_t flags = 0;
  uint32_t site = 0;     // CallPath id, 0 = unknown
  uint64_t bytes = 0;
  int32_t peer = kPeerNone;  // world rank or kPeer*
  int32_t tag = 0;
  uint32_t object = 0;   // Communicator id or File id, 0 = unknown
  uint64_t request = 0;
  int64_t offset = -1;

  bool operator==(const TraceEvent &) const = default;
};

}  // namespace slurmscope
