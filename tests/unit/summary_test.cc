// The fold: known rows give known numbers, and no way of cutting or merging changes them.
#include <gtest/gtest.h>

#include "proto/summary.h"
#include "tests/unit/trace_maker.h"

namespace slurmscope::test {
namespace {

const std::vector<v1::CallClass> kClasses = classes_of(sample_call_table());

TraceEvent row_of(uint32_t call, uint64_t bytes, int32_t peer, uint16_t flags = kRowMessage) {
  TraceEvent row;
  row.start = 100;
  row.end = 150;
  row.call = call;
  row.bytes = bytes;
  row.peer = peer;
  row.flags = flags;
  row.object = 1;
  return row;
}
TraceEvent file_row(uint32_t call, uint64_t bytes, int64_t offset = -1) {
  TraceEvent row = row_of(call, bytes, 3, 0);
  row.offset = offset;
  return row;
}
CallStats stats_of(const Summary &summary, uint32_t call) {
  CallStats all;
  for (const auto &[key, stats] : summary.calls)
    if (key.call == call) all.merge(stats);
  return all;
}

TEST(Summary, SizeBins) {
  EXPECT_EQ(size_bin(0), 0u);
  EXPECT_EQ(size_bin(1), 1u);
  EXPECT_EQ(size_bin(1023), 10u);
  EXPECT_EQ(size_bin(1024), 11u);
  EXPECT_EQ(size_bin(UINT64_MAX), 64u);
}

TEST(Summary, CountsOnlyWhatMoved) {
  Summary summary(&kClasses);
  summary.add(row_of(kSend, 100, 1));
  summary.add(row_of(kSend, 100, kPeerProcNull));
  summary.add(row_of(kSend, 100, 1, kRowMessage | kRowFailed));
  CallStats stats = stats_of(summary, kSend);
  EXPECT_EQ(stats.count, 3u);
  EXPECT_EQ(stats.bytes, 100u);
  EXPECT_EQ(stats.failed, 1u);
  EXPECT_EQ(stats.ticks, 150u);
  EXPECT_EQ(summary.peers.size(), 1u);
  EXPECT_EQ(summary.peers[1].sent_count, 1u);
  EXPECT_EQ(summary.peers[1].sent_bytes, 100u);
  EXPECT_TRUE(summary.calls.contains({kSend, 0, 1, Locality::kUnknown, size_bin(100)}));
}

TEST(Summary, StartedReceivesCountAtTheStartingCall) {
  Summary summary(&kClasses);
  summary.add(row_of(kIrecv, 0, kPeerAnySource, 0));
  TraceEvent wait = row_of(kWait, 0, kPeerNone, 0);
  summary.add(wait);
  TraceEvent completion = row_of(kIrecv, 640, 2);
  completion.kind = RowKind::kCompletion;
  summary.add(completion);
  EXPECT_EQ(stats_of(summary, kIrecv).count, 1u);
  EXPECT_EQ(stats_of(summary, kIrecv).bytes, 640u);
  EXPECT_EQ(stats_of(summary, kWait).count, 1u);
  EXPECT_EQ(stats_of(summary, kWait).bytes, 0u);
  EXPECT_EQ(summary.calls.size(), 2u) << "the bytes are in size_bin 0, with the count";
  EXPECT_EQ(summary.peers[2].received_bytes, 640u);
  EXPECT_EQ(summary.peers[2].received_count, 1u);
  completion.flags |= kRowCancelled;
  summary.add(completion);
  EXPECT_EQ(stats_of(summary, kIrecv).bytes, 640u);
}

TEST(Summary, CancelledSendIsTakenBack) {
  Summary summary(&kClasses);
  summary.add(row_of(kIsend, 64, 2));
  summary.add(row_of(kIsend, 64, 2));
  TraceEvent completion = row_of(kIsend, 64, 2, kRowMessage | kRowCancelled);
  completion.kind = RowKind::kCompletion;
  summary.add(completion);
  EXPECT_EQ(summary.peers[2].sent_count, 1u);
  EXPECT_EQ(stats_of(summary, kIsend).bytes, 64u);
  EXPECT_EQ(stats_of(summary, kIsend).count, 2u);
}

TEST(Summary, PersistentRequestsCountAtEachStart) {
  std::vector<v1::CallClass> classes = {v1::CLASS_UNKNOWN, v1::CLASS_LOCAL, v1::CLASS_LOCAL};
  constexpr uint32_t kSendInit = 1, kStart = 2;
  Summary summary(&classes);
  summary.add(row_of(kSendInit, 64, 2, 0));  // as the resolver has it: no message yet
  EXPECT_TRUE(summary.peers.empty());
  for (int i = 0; i < 3; i++) {
    summary.add(row_of(kStart, 64, 2));
    TraceEvent completion = row_of(kStart, 64, 2, 0);
    completion.kind = RowKind::kCompletion;
    summary.add(completion);
  }
  summary.add(row_of(kStart, 0, 1, 0));
  TraceEvent received = row_of(kStart, 7, 1);
  received.kind = RowKind::kCompletion;
  summary.add(received);
  EXPECT_EQ(summary.peers[2].sent_count, 3u);
  EXPECT_EQ(summary.peers[2].sent_bytes, 192u);
  EXPECT_EQ(summary.peers[1].received_bytes, 7u);
  EXPECT_EQ(summary.peers[1].sent_count, 0u);
  EXPECT_EQ(stats_of(summary, kStart).bytes, 199u);
}

TEST(Summary, PartsOfStartallCountLikeStarts) {
  std::vector<v1::CallClass> classes = {v1::CLASS_UNKNOWN, v1::CLASS_START};
  constexpr uint32_t kStartAll = 1;
  Summary summary(&classes);
  TraceEvent call = row_of(kStartAll, 0, kPeerNone, 0);
  call.object = 0;
  summary.add(call);
  TraceEvent part = row_of(kStartAll, 64, 2);
  part.kind = RowKind::kStartPart;
  summary.add(part);
  summary.add(part);
  EXPECT_EQ(stats_of(summary, kStartAll).count, 1u);
  EXPECT_EQ(stats_of(summary, kStartAll).bytes, 128u);
  EXPECT_EQ(summary.peers[2].sent_count, 2u);
  EXPECT_EQ(summary.peers[2].sent_bytes, 128u);
  // One of them is cancelled: as if it had never been, in each entry.
  TraceEvent completion = row_of(kStartAll, 64, 2, kRowCancelled);
  completion.kind = RowKind::kCompletion;
  summary.add(completion);
  EXPECT_EQ(summary.peers[2].sent_count, 1u);
  for (const auto &[key, stats] : summary.calls) EXPECT_EQ(stats.bytes, key.size_bin == 7 ? 64u : 0u);
  TraceEvent foreign = row_of(kStartAll, 8, kPeerForeign);
  foreign.kind = RowKind::kStartPart;
  summary.add(foreign);
  EXPECT_EQ(summary.peers.size(), 1u) << "a process of another world is no peer";
}

TEST(Summary, MpiIoCountsForItsFile) {
  std::vector<v1::CallClass> classes = {v1::CLASS_UNKNOWN, v1::CLASS_MPI_IO_OPEN, v1::CLASS_MPI_IO_READ,
                                        v1::CLASS_MPI_IO_WRITE, v1::CLASS_MPI_IO_DATA, v1::CLASS_MPI_IO_METADATA,
                                        v1::CLASS_MPI_IO_CLOSE};
  Summary summary(&classes);
  summary.add(file_row(1, 0));
  summary.add(file_row(2, 100, 0));
  summary.add(file_row(2, 100, 100));
  TraceEvent started = file_row(2, 0, 200);
  started.request = 5;
  summary.add(started);
  EXPECT_EQ(summary.files[1].reads, 2u);
  started.kind = RowKind::kCompletion;
  started.bytes = 50;
  summary.add(started);
  summary.add(file_row(3, 7));
  summary.add(file_row(4, 9));
  summary.add(file_row(5, 0));
  summary.add(file_row(6, 0));
  const FileStats &file = summary.files[1];
  EXPECT_EQ(file.opens, 1u);
  EXPECT_EQ(file.reads, 3u);
  EXPECT_EQ(file.bytes_read, 250u);
  EXPECT_EQ(file.read_ticks, 150u);
  EXPECT_EQ(file.sequential, 2u);
  EXPECT_EQ(file.writes, 1u);
  EXPECT_EQ(file.bytes_written, 7u);
  EXPECT_EQ(file.metadata, 1u);
  EXPECT_EQ(file.closes, 1u);
  EXPECT_EQ(stats_of(summary, 2).bytes, 250u);
  for (const auto &[key, stats] : summary.calls) EXPECT_EQ(key.object, 0u);
}

TEST(Summary, SendrecvCountsBothDirections) {
  Summary summary(&kClasses);
  summary.add(row_of(kSendrecv, 10, 1));
  TraceEvent part = row_of(kSendrecv, 20, 3);
  part.kind = RowKind::kReceivePart;
  summary.add(part);
  EXPECT_EQ(stats_of(summary, kSendrecv).count, 1u);
  EXPECT_EQ(stats_of(summary, kSendrecv).bytes, 30u);
  EXPECT_EQ(summary.peers[1].sent_bytes, 10u);
  EXPECT_EQ(summary.peers[1].received_count, 0u);
  EXPECT_EQ(summary.peers[3].received_bytes, 20u);
}

TEST(Summary, EachOfAFloodOfPollsCounts) {
  Summary summary(&kClasses);
  TraceEvent polls = row_of(kWait, 0, kPeerNone, 0);
  polls.kind = RowKind::kPolls;
  polls.start = 1000;
  polls.end = 9000;
  polls.request = 7;
  polls.offset = 712;  // of the 8000 ticks were inside the calls
  summary.add(polls);
  summary.add(row_of(kWait, 0, kPeerNone, 0));  // 50 ticks
  CallStats stats = stats_of(summary, kWait);
  EXPECT_EQ(stats.count, 8u);
  EXPECT_EQ(stats.ticks, 762u);
  EXPECT_EQ(stats.min_ticks, 50u);
  EXPECT_EQ(stats.max_ticks, 101u);
  EXPECT_EQ(stats.durations.counts(), (std::vector<Histogram::Count>{{50, 1}, {101, 7}}));
  EXPECT_EQ(summary.span.first_ticks, 100u);
  EXPECT_EQ(summary.span.last_ticks, 9000u);
  polls.request = 0;  // no such row is written
  summary.add(polls);
  EXPECT_EQ(stats_of(summary, kWait).count, 8u);
  EXPECT_TRUE(summary.peers.empty());
}

TEST(Summary, FilePatterns) {
  Summary summary(&kClasses);
  summary.add(file_row(kOpen, 0));
  for (int i = 0; i < 4; i++) summary.add(file_row(kWrite, 100));            // 0, 100, 200, 300
  for (int i = 0; i < 4; i++) summary.add(file_row(kRead, 10, 1000 * i));    // gap 990
  summary.add(file_row(kSeek, 0, 50));
  summary.add(file_row(kWrite, 100));                                        // back at 50
  summary.add(file_row(kStat, 0));
  summary.add(file_row(kClose, 0));
  const FileStats &file = summary.files[1];
  EXPECT_EQ(file.opens, 1u);
  EXPECT_EQ(file.closes, 1u);
  EXPECT_EQ(file.writes, 5u);
  EXPECT_EQ(file.bytes_written, 500u);
  EXPECT_EQ(file.reads, 4u);
  EXPECT_EQ(file.bytes_read, 40u);
  EXPECT_EQ(file.metadata, 2u);
  EXPECT_EQ(file.metadata_ticks, 200u);
  EXPECT_EQ(file.sequential, 3u);
  EXPECT_EQ(file.strided, 2u);
  EXPECT_EQ(file.random, 2u);
  EXPECT_EQ(file.write_sizes.at(size_bin(100)), 5u);
  TraceEvent failed = file_row(kRead, 0);
  failed.flags = kRowFailed;
  summary.add(failed);
  EXPECT_EQ(summary.files[1].reads, 4u);
}

TEST(Summary, MapsSocketsAlignmentAndDirectOpens) {
  const std::vector<v1::CallClass> classes = {v1::CLASS_OPEN,           v1::CLASS_READ,           v1::CLASS_WRITE,
                                              v1::CLASS_MAP,            v1::CLASS_SOCKET_CONNECT, v1::CLASS_SOCKET_RECEIVE,
                                              v1::CLASS_SOCKET_SEND};
  enum : uint32_t { kOpening, kReading, kWriting, kMapping, kConnecting, kReceiving, kSending };
  Summary summary(&classes);
  TraceEvent open = file_row(kOpening, 0);
  open.flags = kRowDirect;
  summary.add(open);
  summary.add(file_row(kOpening, 0));
  summary.add(file_row(kReading, 4096, 8192));
  summary.add(file_row(kReading, 10, 8193));   // unaligned
  summary.add(file_row(kWriting, 100));        // at 0
  summary.add(file_row(kWriting, 100));        // at 100: unaligned
  summary.add(file_row(kMapping, 16384, 4096));
  TraceEvent failed = file_row(kMapping, 16384, 1);
  failed.flags = kRowFailed;
  summary.add(failed);
  FileStats &file = summary.files[1];
  EXPECT_EQ(file.opens, 2u);
  EXPECT_EQ(file.direct_opens, 1u);
  EXPECT_EQ(file.unaligned, 2u);
  EXPECT_EQ(file.maps, 1u);
  EXPECT_EQ(file.bytes_mapped, 16384u);
  EXPECT_EQ(file.bytes_read, 4106u);
  EXPECT_EQ(file.metadata, 0u);
  for (uint32_t call : {kConnecting, kReceiving, kReceiving, kSending}) {
    TraceEvent row = file_row(call, call == kConnecting ? 0 : 7);
    row.object = 2;
    summary.add(row);
  }
  TraceEvent late = file_row(kReading, 1);
  late.start = 5000;
  late.end = 6000;
  late.object = 3;
  TraceEvent early = late;
  early.start = 100;
  early.end = 200;
  summary.add(late);
  summary.add(early);
  EXPECT_EQ(summary.files[3].reading, (Span{100, 6000}));
  EXPECT_EQ(summary.files[3].writing, Span());
  FileStats &peer = summary.files[2];
  EXPECT_EQ(peer.opens, 1u);
  EXPECT_EQ(peer.reads, 2u);
  EXPECT_EQ(peer.bytes_read, 14u);
  EXPECT_EQ(peer.writes, 1u);
  EXPECT_EQ(peer.bytes_written, 7u);
  EXPECT_EQ(peer.sequential + peer.strided + peer.random + peer.unaligned, 0u);  // a socket has no positions
  Summary copy(&classes);
  copy.merge(summary.to_packet(1));
  EXPECT_EQ(copy, summary);
}

TEST(Summary, DeltasThroughPacketsAddUp) {
  std::vector<TraceEvent> rows = sample_rows(77, 5000);
  Summary whole(&kClasses), running(&kClasses), sum(&kClasses), merged(&kClasses);
  Random random(3);
  for (const TraceEvent &row : rows) {
    whole.add(row);
    running.add(row);
    if (random.below(100) != 0) continue;
    sum.merge(running.to_packet(1));
    merged.merge(running);
    running.clear_counts();
  }
  sum.merge(running.to_packet(1));
  merged.merge(running);
  EXPECT_TRUE(sum == whole);
  EXPECT_TRUE(merged == whole);
  EXPECT_EQ(whole.to_packet(1).SerializeAsString(), sum.to_packet(1).SerializeAsString());
}

TEST(Summary, EqualsTheOneRecomputedFromTheTrace) {
  ReadBack back = read_back(sample_trace(123, 3000, 5));
  Summary stored(&kClasses), recomputed(&kClasses);
  for (const v1::Packet &packet : back.packets)
    if (packet.has_summary()) stored.merge(packet.summary());
  for (const auto &[key, rows] : back.rows)
    for (const TraceEvent &row : rows) recomputed.add(row);
  // Two threads interleave: the order of a file's accesses is the one thing that may differ.
  for (Summary *summary : {&stored, &recomputed})
    for (auto &[id, file] : summary->files) file.sequential = file.strided = file.random = file.unaligned = 0;
  EXPECT_TRUE(stored == recomputed);
  EXPECT_FALSE(stored.empty());
}

TEST(Summary, ACopyDoesNotShareItsEntries) {
  Summary first(&kClasses);
  first.add(row_of(kSend, 8, 1));
  Summary second = first;
  second.add(row_of(kSend, 8, 1));
  EXPECT_EQ(stats_of(first, kSend).count, 1u);
  EXPECT_EQ(stats_of(second, kSend).count, 2u);
}

}  // namespace
}  // namespace slurmscope::test
