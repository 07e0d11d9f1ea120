// Which send belongs to which receive: order, requests, wildcards, cancelled ones, threads, memory.
#include "tools/model/match_messages.h"

#include <gtest/gtest.h>

#include <map>

namespace slurmscope {
namespace {

enum Call : uint32_t { kSend, kRecv, kSendrecv, kIsend, kIrecv, kWait, kStart, kIallreduce };
const std::vector<v1::CallClass> kClasses = {v1::CLASS_SEND, v1::CLASS_RECEIVE, v1::CLASS_SEND_RECEIVE, v1::CLASS_START_SEND,
                                             v1::CLASS_START_RECEIVE, v1::CLASS_WAIT, v1::CLASS_START, v1::CLASS_START_COLLECTIVE};
constexpr uint32_t kComm = 1;
constexpr int32_t kAnyTag = -1;

/// Two ranks of one world, and what was matched.
class MatchMessages : public ::testing::Test {
 protected:
  void SetUp() override { make(false); }
  void make(bool has_threads) {
    matcher = std::make_unique<MessageMatcher>([this](const MatchedMessage &m) { matched.push_back(m); });
    for (int32_t rank : {0, 1}) {
      uint32_t id = matcher->add_endpoint(0, rank, &kClasses, has_threads);
      matcher->define_communicator(id, kComm, 77);
    }
  }
  static TraceEvent row(Call call, uint64_t start, uint64_t end, int32_t peer, int32_t tag, uint64_t bytes, bool is_message) {
    TraceEvent row;
    row.call = call;
    row.start = start;
    row.end = end;
    row.peer = peer;
    row.tag = tag;
    row.bytes = bytes;
    row.object = kComm;
    row.flags = is_message ? kRowMessage : 0;
    return row;
  }
  void send(uint64_t at, uint64_t bytes, int32_t tag = 5) { matcher->add(0, row(kSend, at, at + 10, 1, tag, bytes, true)); }
  void receive(uint64_t at, uint64_t bytes, int32_t tag = 5) { matcher->add(1, row(kRecv, at, at + 10, 0, tag, bytes, true)); }
  void start(uint32_t rank, Call call, uint64_t at, int32_t peer, int32_t tag, uint64_t request, uint64_t bytes = 0) {
    TraceEvent event = row(call, at, at + 1, peer, tag, bytes, call == kIsend || (call == kStart && bytes > 0));
    event.request = request;
    matcher->add(rank, event);
  }
  void complete(uint32_t rank, Call started_by, uint64_t start, uint64_t end, int32_t peer, int32_t tag, uint64_t request,
                uint64_t bytes, bool is_receive, uint16_t flags = 0) {
    TraceEvent event = row(started_by, start, end, peer, tag, bytes, is_receive);
    event.kind = RowKind::kCompletion;
    event.request = request;
    event.flags = static_cast<uint16_t>(event.flags | flags);
    matcher->add(rank, event);
  }
  /// (sent at, bytes) -> received at.
  std::vector<std::pair<uint64_t, uint64_t>> pairs() const {
    std::vector<std::pair<uint64_t, uint64_t>> result;
    for (const MatchedMessage &m : matched) result.push_back({m.send.start, m.receive.start});
    return result;
  }
  using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

  std::unique_ptr<MessageMatcher> matcher;
  std::vector<MatchedMessage> matched;
};

TEST_F(MatchMessages, BlockingInOrderOfEachTag) {
  send(100, 8, 1);
  send(200, 16, 2);
  send(300, 24, 1);
  receive(1000, 16, 2);
  receive(1100, 8, 1);
  receive(1200, 24, 1);
  EXPECT_EQ(pairs(), (Pairs{{200, 1000}, {100, 1100}, {300, 1200}}));
  EXPECT_EQ(matched[0].send.end, 210u);
  EXPECT_EQ(matched[0].receive.end, 1010u);
  EXPECT_EQ(matched[0].source, 0u);
  EXPECT_EQ(matched[0].destination, 1u);
  EXPECT_EQ(matched[0].communicator, 77u);
  EXPECT_EQ(matcher->waiting(), 0u);
  matcher->finish();
  EXPECT_EQ(matcher->counts(0).matched, 3u);
  EXPECT_EQ(matcher->counts(0).size_differs, 0u);
}

TEST_F(MatchMessages, NonblockingHaveBothTimes) {
  start(0, kIsend, 100, 1, 5, 1, 8);
  start(1, kIrecv, 50, 0, 5, 1);
  complete(1, kIrecv, 50, 900, 0, 5, 1, 8, true);
  EXPECT_TRUE(matched.empty()) << "when the send ended is not known yet";
  complete(0, kIsend, 100, 700, 1, 5, 1, 8, false);
  ASSERT_EQ(matched.size(), 1u);
  EXPECT_EQ(matched[0].send.start, 100u);
  EXPECT_EQ(matched[0].send.end, 700u);
  EXPECT_EQ(matched[0].receive.start, 50u);
  EXPECT_EQ(matched[0].receive.end, 900u);
}

TEST_F(MatchMessages, ReceivesMatchInTheOrderOfTheirStart) {
  send(100, 8);
  send(200, 16);
  start(1, kIrecv, 1000, 0, 5, 1);
  start(1, kIrecv, 1100, 0, 5, 2);
  complete(1, kIrecv, 1100, 2000, 0, 5, 2, 16, true);  // the second is waited for first
  EXPECT_TRUE(matched.empty());
  complete(1, kIrecv, 1000, 2100, 0, 5, 1, 8, true);
  EXPECT_EQ(pairs(), (Pairs{{100, 1000}, {200, 1100}}));
  EXPECT_EQ(matched[0].send.bytes, matched[0].receive.bytes);
}

TEST_F(MatchMessages, AnOpenWildcardMayHaveGotTheEarlierMessage) {
  send(100, 8);
  send(200, 16);
  start(1, kIrecv, 1000, kPeerAnySource, kAnyTag, 1);
  receive(1100, 16);
  EXPECT_TRUE(matched.empty());
  complete(1, kIrecv, 1000, 2000, 0, 5, 1, 8, true);
  EXPECT_EQ(pairs(), (Pairs{{100, 1000}, {200, 1100}}));
}

TEST_F(MatchMessages, PersistentCountPerStart) {
  for (uint64_t i = 0; i < 3; ++i) {
    start(0, kStart, 100 + i * 1000, 1, 5, 10 + i, 8);
    start(1, kStart, 200 + i * 1000, 0, 5, 20 + i);
    complete(0, kStart, 100 + i * 1000, 150 + i * 1000, 1, 5, 10 + i, 8, false);
    complete(1, kStart, 200 + i * 1000, 250 + i * 1000, 0, 5, 20 + i, 8, true);
  }
  EXPECT_EQ(pairs(), (Pairs{{100, 200}, {1100, 1200}, {2100, 2200}}));
}

TEST_F(MatchMessages, StartallNamesItsRequests) {
  auto part = [&](uint32_t rank, uint64_t request, int32_t tag, uint64_t bytes) {
    TraceEvent event = row(kStart, 100 + rank, 110, rank == 0 ? 1 : 0, tag, bytes, bytes > 0);
    event.kind = RowKind::kStartPart;
    event.request = request;
    matcher->add(rank, event);
  };
  part(0, 1, 5, 8);
  part(0, 2, 5, 16);
  part(1, 1, 5, 0);
  part(1, 2, 5, 0);
  complete(1, kStart, 101, 300, 0, 5, 2, 16, true);  // in any order
  complete(1, kStart, 101, 310, 0, 5, 1, 8, true);
  complete(0, kStart, 100, 320, 1, 5, 1, 8, false);
  complete(0, kStart, 100, 330, 1, 5, 2, 16, false);
  ASSERT_EQ(matched.size(), 2u);
  EXPECT_EQ(matched[0].receive.end, 310u);
  EXPECT_EQ(matched[1].receive.end, 300u);
  matcher->finish();
  EXPECT_EQ(matcher->counts(0).size_differs, 0u);
}

TEST_F(MatchMessages, IsendrecvIsCompletedOnce) {
  for (uint32_t rank : {0u, 1u}) start(rank, kStart, 100 + rank, rank == 0 ? 1 : 0, 5, 1, 8);
  for (uint32_t rank : {0u, 1u}) complete(rank, kStart, 100 + rank, 200 + rank, rank == 0 ? 1 : 0, 5, 1, 8, true);
  ASSERT_EQ(matched.size(), 2u);
  EXPECT_EQ(matched[0].send.end + matched[1].send.end, 401u);
  EXPECT_EQ(matcher->waiting(), 0u);
}

TEST_F(MatchMessages, SendrecvHasTwoHalves) {
  for (uint32_t rank : {0u, 1u}) {
    int32_t peer = rank == 0 ? 1 : 0;
    matcher->add(rank, row(kSendrecv, 100 + rank, 200, peer, 5, 8, true));
    TraceEvent part = row(kSendrecv, 100 + rank, 200, peer, 5, 8, true);
    part.kind = RowKind::kReceivePart;
    matcher->add(rank, part);
  }
  EXPECT_EQ(matched.size(), 2u);
  EXPECT_EQ(matcher->waiting(), 0u);
}

TEST_F(MatchMessages, CancelledAreNoMessages) {
  start(1, kIrecv, 50, 0, 5, 1);
  complete(1, kIrecv, 50, 60, 0, 5, 1, 0, true, kRowCancelled);
  start(0, kIsend, 70, 1, 5, 1, 8);
  complete(0, kIsend, 70, 80, 1, 5, 1, 8, false, kRowCancelled);
  send(100, 16);
  receive(200, 16);
  matcher->finish();
  EXPECT_EQ(pairs(), (Pairs{{100, 200}}));
  EXPECT_EQ(matcher->counts(0).cancelled, 2u);
  EXPECT_EQ(matcher->counts(0).sends_left, 0u);
}

TEST_F(MatchMessages, CountsWhatHasNoPartner) {
  send(100, 8);
  receive(100, 8, 6);
  matcher->add(0, row(kSend, 300, 310, 9, 5, 8, true));                 // rank 9 left no trace
  matcher->add(0, row(kSend, 300, 310, kPeerForeign, 5, 8, true));      // to another world
  matcher->add(0, row(kSend, 400, 410, kPeerProcNull, 5, 8, true));     // moves nothing
  TraceEvent failed = row(kSend, 500, 510, 1, 5, 8, true);
  failed.flags |= kRowFailed;
  matcher->add(0, failed);
  matcher->finish();
  const MessageCounts &counts = matcher->counts(0);
  EXPECT_EQ(counts.matched, 0u);
  EXPECT_EQ(counts.sends_left, 1u);
  EXPECT_EQ(counts.receives_left, 1u);
  EXPECT_EQ(counts.peer_not_recorded, 1u);
  EXPECT_EQ(counts.other_world, 1u);
}

TEST_F(MatchMessages, LostRowsShowAsDifferentSizes) {
  send(100, 8);
  send(200, 16);
  receive(1000, 16);
  matcher->finish();
  EXPECT_EQ(matcher->counts(0).size_differs, 1u);
  EXPECT_EQ(matcher->counts(0).sends_left, 1u);
}

TEST_F(MatchMessages, ThreadsAreSortedByTime) {
  make(true);
  // One thread's rows come in one packet, those of the other later, although they alternated.
  send(100, 8);
  send(300, 24);
  receive(1000, 8);
  receive(1200, 24);
  send(200, 16);
  receive(1100, 16);
  EXPECT_TRUE(matched.empty());
  matcher->finish();
  EXPECT_EQ(pairs(), (Pairs{{100, 1000}, {200, 1100}, {300, 1200}}));
}

TEST_F(MatchMessages, RequestsThatAreFreedOrNeverEnd) {
  start(0, kIsend, 100, 1, 5, 1, 8);
  TraceEvent freed = row(kStart, 150, 151, kPeerNone, 0, 0, false);
  freed.request = 1;
  matcher->add(0, freed);
  receive(200, 8);
  EXPECT_EQ(matched.size(), 1u);
  start(0, kIsend, 300, 1, 5, 2, 8);
  receive(400, 8);
  EXPECT_EQ(matched.size(), 1u);
  start(0, kIallreduce, 500, kPeerNone, 0, 3);
  matcher->finish();
  ASSERT_EQ(matched.size(), 2u);
  EXPECT_EQ(matched[1].send.end, 0u) << "not in the trace";
}

TEST_F(MatchMessages, MemoryStaysBoundedWithinAFile) {
  size_t most = 0;
  for (uint64_t i = 0; i < 300000; ++i) {
    send(i * 100, 8, static_cast<int32_t>(i));  // a tag of its own each: channels are given up again
    receive(i * 100 + 50, 8, static_cast<int32_t>(i));
    most = std::max(most, matcher->waiting());
  }
  EXPECT_EQ(matched.size(), 300000u);
  EXPECT_EQ(most, 0u);
}

}  // namespace
}  // namespace slurmscope
