// What the writer writes, the reader gives back, and so do protobuf's own classes.
#include <gtest/gtest.h>
#include <zstd.h>

#include "proto/error.h"
#include "proto/trace_writer.h"
#include "tests/unit/trace_maker.h"

namespace slurmscope::test {
namespace {

std::string written(const std::vector<TraceEvent> &rows) {
  MemorySink sink;
  TraceWriter writer(&sink);
  writer.write(header_packet());
  writer.write_events(7, 3, rows);
  writer.finish();
  return sink.bytes;
}

// All frames one after another, as `zstd -dc` gives them.
std::string inflated(std::string_view bytes) {
  std::string content;
  while (!bytes.empty()) {
    size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    EXPECT_FALSE(ZSTD_isError(size));
    unsigned long long content_size = ZSTD_getFrameContentSize(bytes.data(), size);
    EXPECT_LT(content_size, 64u << 20) << "the content size is in the header";
    std::string frame(content_size, 0);
    EXPECT_EQ(ZSTD_decompress(frame.data(), frame.size(), bytes.data(), size), content_size);
    content += frame;
    bytes.remove_prefix(size);
  }
  return content;
}

TEST(TraceRoundTrip, GivesBackWildRows) {
  std::vector<TraceEvent> rows = wild_rows(1, 100000);
  ReadBack back = read_back(written(rows));
  EXPECT_FALSE(back.damage.damaged) << back.damage.reason;
  EXPECT_EQ((back.rows[{7, 3}]), rows);
}

TEST(TraceRoundTrip, GivesBackSampleRows) {
  std::vector<TraceEvent> rows = sample_rows(2, 50000);
  EXPECT_EQ((read_back(written(rows)).rows[{7, 3}]), rows);
}

TEST(TraceRoundTrip, OmitsColumnsOfDefaults) {
  std::vector<TraceEvent> rows(1000);
  for (TraceEvent &row : rows) row.start = row.end = 5;
  std::string content = inflated(written(rows));
  v1::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(content));
  const v1::Events &events = trace.packet(1).events();
  EXPECT_EQ(events.start_delta_size(), 1000);
  EXPECT_EQ(events.duration_size() + events.call_size() + events.peer_plus_1_size() + events.offset_plus_1_size(), 0);
  EXPECT_EQ((read_back(written(rows)).rows[{7, 3}]), rows);
}

TEST(TraceRoundTrip, IsOneProtobufMessage) {
  std::vector<TraceEvent> rows = wild_rows(3, 70000);
  v1::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(inflated(written(rows))));
  size_t row = 0;
  for (const v1::Packet &packet : trace.packet()) {
    if (!packet.has_events()) continue;
    const v1::Events &events = packet.events();
    uint64_t start = events.first_start();
    for (int i = 0; i < static_cast<int>(events.count()); i++, row++) {
      start += static_cast<uint64_t>(events.start_delta(i));
      ASSERT_EQ(start, rows[row].start);
      ASSERT_EQ(start + events.duration(i), rows[row].end);
      ASSERT_EQ(events.call(i), rows[row].call);
      ASSERT_EQ(events.kind(i), static_cast<uint32_t>(rows[row].kind));
      ASSERT_EQ(events.flags(i), rows[row].flags);
      ASSERT_EQ(events.site(i), rows[row].site);
      ASSERT_EQ(events.bytes(i), rows[row].bytes);
      ASSERT_EQ(static_cast<uint32_t>(events.peer_plus_1(i)), static_cast<uint32_t>(rows[row].peer) + 1);
      ASSERT_EQ(events.tag(i), rows[row].tag);
      ASSERT_EQ(events.object(i), rows[row].object);
      ASSERT_EQ(events.request(i), rows[row].request);
      ASSERT_EQ(static_cast<uint64_t>(events.offset_plus_1(i)), static_cast<uint64_t>(rows[row].offset) + 1);
    }
  }
  EXPECT_EQ(row, rows.size());
}

TEST(TraceRoundTrip, ConcatenationIsAMerge) {
  std::string first = sample_trace(1, 500, 2), second = sample_trace(9, 300, 1);
  ReadBack back = read_back(first + second);
  EXPECT_FALSE(back.damage.damaged) << back.damage.reason;
  ReadBack a = read_back(first), b = read_back(second);
  EXPECT_EQ(back.packets.size(), a.packets.size() + b.packets.size());
  auto expected = a.rows[{1, 1}];
  expected.insert(expected.end(), b.rows[{1, 1}].begin(), b.rows[{1, 1}].end());
  EXPECT_EQ((back.rows[{1, 1}]), expected);
}

TEST(TraceRoundTrip, IndexNamesEachFrame) {
  std::string bytes = sample_trace(4, 2000, 3);
  ReadBack back = read_back(bytes);
  ASSERT_TRUE(back.packets.back().has_index());
  uint64_t events = 0;
  for (const auto &frame : back.packets.back().index().frames()) {
    ASSERT_LT(frame.offset(), bytes.size());
    EXPECT_EQ(bytes.compare(frame.offset(), 4, "\x28\xb5\x2f\xfd"), 0);
    events += frame.events();
  }
  EXPECT_EQ(events, (back.rows[{1, 1}].size() + back.rows[{1, 2}].size()));
}

TEST(TraceRoundTrip, ClosesFramesNearOneMebibyte) {
  std::string bytes = written(wild_rows(5, 200000));
  size_t frames = 0;
  for (std::string_view rest = bytes; !rest.empty(); frames++) {
    size_t size = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    EXPECT_LE(ZSTD_getFrameContentSize(rest.data(), size), 4u << 20);
    rest.remove_prefix(size);
  }
  EXPECT_GT(frames, 5u);
}

TEST(TraceRoundTrip, SplitsALargeSummary) {
  MemorySink sink;
  TraceWriter writer(&sink);
  writer.write(header_packet());
  v1::Packet packet;
  packet.mutable_summary()->set_process(1);
  packet.mutable_summary()->set_last_ticks(9);
  for (uint32_t i = 0; i < 3000; i++) {
    v1::CallStats *call = packet.mutable_summary()->add_calls();
    call->set_call(i);
    for (int j = 0; j < 500; j++) {
      call->mutable_durations()->add_bucket_delta(1);
      call->mutable_durations()->add_count(i);
    }
  }
  writer.write(packet);
  writer.finish();
  ReadBack back = read_back(sink.bytes);
  int calls = 0, packets = 0;
  for (const v1::Packet &read : back.packets) {
    if (!read.has_summary()) continue;
    EXPECT_EQ(read.summary().process(), 1u);
    calls += read.summary().calls_size();
    packets++;
  }
  EXPECT_EQ(calls, 3000);
  EXPECT_GT(packets, 1);
}

TEST(TraceRoundTrip, AFailedSinkGetsNothingTwice) {
  struct FailingSink : MemorySink {
    bool is_full = false;
    void append(const void *data, size_t size) override {
      if (is_full) throw Error("full");
      MemorySink::append(data, size);
    }
  } sink;
  TraceWriter writer(&sink);
  writer.write(header_packet());
  writer.flush();
  sink.is_full = true;
  writer.write_events(1, 1, sample_rows(1, 10));
  EXPECT_THROW(writer.flush(), Error);
  sink.is_full = false;
  std::vector<TraceEvent> later = sample_rows(2, 10);
  writer.write_events(1, 1, later);
  writer.finish();
  ReadBack back = read_back(sink.bytes);
  EXPECT_FALSE(back.damage.damaged);
  EXPECT_EQ((back.rows[{1, 1}]), later);
}

}  // namespace
}  // namespace slurmscope::test
