// Packets into independent zstd frames into a Sink. Used by the drainer and by tests that make traces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "proto/sink.h"
#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"

namespace slurmscope {

/// Not thread-safe. Nothing reaches the sink before flush(), finish() or a full frame; what reached it
/// is whole frames.
class TraceWriter {
 public:
  /// `offset` is the size of what the sink already holds (a restarted drainer appends).
  explicit TraceWriter(Sink *sink, uint64_t offset = 0);
  ~TraceWriter();
  TraceWriter(const TraceWriter &) = delete;
  TraceWriter &operator=(const TraceWriter &) = delete;

  /// Adds one packet to the open frame.
  void write(const v1::Packet &packet);
  /// Adds the rows of one thread as Events packets of at most kRowsPerPacket rows.
  void write_events(uint32_t process, uint32_t thread, std::span<const TraceEvent> rows);
  /// Ends the open frame, if it holds anything, and passes it to the sink.
  void flush();
  /// Writes the index frame and ends. The file is whole afterwards.
  void finish();
  /// Bytes passed to the sink so far, `offset` included.
  uint64_t size() const;

  static constexpr size_t kRowsPerPacket = 32768;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slurmscope
