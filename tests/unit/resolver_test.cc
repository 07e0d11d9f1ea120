// Handles into communicators, world ranks and request numbers.
#include <gtest/gtest.h>

#include "profiler/drain/resolver.h"
#include "tests/unit/ring_maker.h"

namespace slurmscope::test {
namespace {

constexpr uint64_t kWorld = 0x44000000, kSub = 0x84000001, kRequest = 0x98000000;

struct ResolverTest : testing::Test {
  ResolverTest() {
    local.size = 2;
    local.add(0);
    local.add(1);
    resolver.set_world(1, &local);
    define(communicator_record(1, kWorld, 1, {0, 1, 2, 3}));
  }
  bool define(const std::vector<uint8_t> &record) {
    std::vector<uint64_t> aligned((record.size() + 7) / 8);
    memcpy(aligned.data(), record.data(), record.size());
    packet.Clear();
    return resolver.define_communicator(reinterpret_cast<DefinitionHeader *>(aligned.data()), &packet);
  }
  static Event message(const char *name, uint64_t start, int32_t peer, uint64_t bytes, uint64_t request = 0) {
    Event event = call_event(name, start);
    event.flags = kEventMessage;
    event.object = kWorld;
    event.peer = peer;
    event.tag = 5;
    event.bytes = bytes;
    event.request = request;
    return event;
  }
  static Event completion(const char *name, uint64_t start, uint64_t request, int32_t peer, uint64_t bytes) {
    Event event = message(name, start, peer, bytes, request);
    event.kind = EventKind::kComplete;
    event.object = 0;
    return event;
  }
  TraceEvent resolve(const Event &event) { return resolver.resolve(event, &ring); }
  static Locality locality(const TraceEvent &row) {
    return static_cast<Locality>((row.flags & kRowLocalityMask) >> kRowLocalityShift);
  }

  v1::CallTable table;
  CallRoles roles = CallRoles::built_in(&table);
  LocalRanks local;
  Resolver resolver{1, &roles};
  Resolver::RingContext ring;
  v1::Packet packet;
};

TEST_F(ResolverTest, PollsAreOneRow) {
  Event call = call_event("MPI_Send", 5);
  call.site = 9;
  resolve(call);
  Event polls = message("MPI_Iprobe", 10, 3, 0, 1000);
  polls.kind = EventKind::kPolls;
  polls.flags = 0;
  polls.end = 5000;
  polls.offset = 4000;
  polls.site = 4;
  TraceEvent row = resolve(polls);
  EXPECT_EQ(row.kind, RowKind::kPolls);
  EXPECT_EQ(row.request, 1000u);
  EXPECT_EQ(row.offset, 4000);
  EXPECT_EQ(row.site, 4u);
  EXPECT_EQ(row.peer, 3);
  EXPECT_EQ(row.object, 1u);
  EXPECT_EQ(locality(row), Locality::kOther);
  polls.offset = -5;
  EXPECT_EQ(resolve(polls).offset, 0);
}

TEST_F(ResolverTest, NamesPeersAndLocality) {
  EXPECT_EQ(locality(resolve(message("MPI_Send", 10, 1, 8))), Locality::kSelf);
  EXPECT_EQ(locality(resolve(message("MPI_Send", 10, 0, 8))), Locality::kNode);
  EXPECT_EQ(locality(resolve(message("MPI_Send", 10, 3, 8))), Locality::kOther);
  local.size = 3;
  EXPECT_EQ(locality(resolve(message("MPI_Send", 10, 3, 8))), Locality::kUnknown) << "one local rank is not known yet";
  TraceEvent null = resolve(message("MPI_Send", 10, kPeerProcNull, 8));
  EXPECT_EQ(null.peer, kPeerProcNull);
  EXPECT_EQ(locality(null), Locality::kUnknown);
}

TEST_F(ResolverTest, TranslatesRanksOfSubcommunicators) {
  ASSERT_TRUE(define(communicator_record(20, kSub, 0, {3, 1})));
  ASSERT_EQ(packet.communicator().members_size(), 1);
  EXPECT_EQ(packet.communicator().members(0).stride(), -2);
  Event event = message("MPI_Send", 30, 0, 8);
  event.object = kSub;
  TraceEvent row = resolve(event);
  EXPECT_EQ(row.peer, 3);
  EXPECT_EQ(row.object, packet.communicator().id());
  event.peer = 7;
  EXPECT_EQ(resolve(event).peer, kPeerNone) << "no such rank";
  event.object = 0xdead;
  event.peer = 0;
  EXPECT_EQ(resolve(event).peer, kPeerNone);
  EXPECT_EQ(resolver.unresolved(), 2u);
}

TEST_F(ResolverTest, HandlesAreUsedAgain) {
  ASSERT_TRUE(define(communicator_record(20, kSub, 0, {3, 1})));
  uint32_t first = packet.communicator().id();
  EXPECT_FALSE(define(communicator_free_record(40, kSub)));
  ASSERT_TRUE(define(communicator_record(60, kSub, 0, {2, 1, 0})));
  uint32_t second = packet.communicator().id();
  EXPECT_NE(first, second);
  EXPECT_FALSE(define(communicator_record(60, kSub, 0, {2, 1, 0}))) << "seen twice after a restart";
  Event event = message("MPI_Send", 30, 0, 8);
  event.object = kSub;
  EXPECT_EQ(resolve(event).object, first);
  EXPECT_EQ(resolve(event).peer, 3);
  event.start = 70;
  EXPECT_EQ(resolve(event).object, second);
  EXPECT_EQ(resolve(event).peer, 2);
  event.start = 50;
  EXPECT_EQ(resolve(event).object, 0u);
}

TEST_F(ResolverTest, IntercommunicatorsPeersAreRemote) {
  ASSERT_TRUE(define(communicator_record(20, kSub, 0, {0, 1}, {2, 3})));
  Event event = message("MPI_Send", 30, 1, 8);
  event.object = kSub;
  EXPECT_EQ(resolve(event).peer, 3);
}

TEST_F(ResolverTest, RequestsLinkStartAndCompletion) {
  Event start = message("MPI_Irecv", 10, kPeerAnySource, 0, kRequest);
  start.site = 4;
  TraceEvent posted = resolve(start);
  EXPECT_NE(posted.request, 0u);
  EXPECT_EQ(posted.flags & kRowMessage, 0) << "what arrives is said at the completion";
  resolve(call_event("MPI_Wait", 100));
  TraceEvent row = resolve(completion("MPI_Wait", 100, kRequest, 0, 640));
  EXPECT_EQ(row.kind, RowKind::kCompletion);
  EXPECT_EQ(row.call, posted.call);
  EXPECT_EQ(row.site, 4u);
  EXPECT_EQ(row.request, posted.request);
  EXPECT_EQ(row.start, 10u);
  EXPECT_EQ(row.end, 110u);
  EXPECT_EQ(row.peer, 0);
  EXPECT_EQ(row.bytes, 640u);
  EXPECT_EQ(row.object, posted.object);
  EXPECT_NE(row.flags & kRowMessage, 0);
  EXPECT_EQ(locality(row), Locality::kNode);
  // The handle again, for something else.
  TraceEvent sent = resolve(message("MPI_Isend", 200, 3, 64, kRequest));
  EXPECT_NE(sent.request, posted.request);
  EXPECT_NE(sent.flags & kRowMessage, 0);
  row = resolve(completion("MPI_Wait", 300, kRequest, 99, 12345));
  EXPECT_EQ(row.call, sent.call);
  EXPECT_EQ(row.peer, 3) << "a send's status says nothing";
  EXPECT_EQ(row.bytes, 64u);
  EXPECT_EQ(row.flags & kRowMessage, 0);
  EXPECT_EQ(locality(row), Locality::kOther);
}

TEST_F(ResolverTest, CancelledReceive) {
  TraceEvent posted = resolve(message("MPI_Irecv", 10, 3, 0, kRequest));
  Event cancel = call_event("MPI_Cancel", 20);
  cancel.request = kRequest;
  resolve(cancel);
  Event event = completion("MPI_Wait", 30, kRequest, kPeerAnySource, 77);
  event.flags |= kEventCancelled;
  TraceEvent row = resolve(event);
  EXPECT_EQ(row.request, posted.request);
  EXPECT_NE(row.flags & kRowCancelled, 0);
  EXPECT_EQ(row.peer, 3);
  EXPECT_EQ(row.bytes, 0u);
}

TEST_F(ResolverTest, PersistentRequestsCountPerStart) {
  Event make = message("MPI_Send_init", 10, 3, 256, kRequest);
  make.flags = 0;
  TraceEvent made = resolve(make);
  EXPECT_EQ(made.request, 0u);
  EXPECT_EQ(made.bytes, 0u);
  uint64_t before = 0;
  for (uint64_t round = 0; round < 3; round++) {
    Event event = call_event("MPI_Start", 100 + round * 100);
    event.request = kRequest;
    TraceEvent start = resolve(event);
    EXPECT_EQ(start.peer, 3);
    EXPECT_EQ(start.bytes, 256u);
    EXPECT_NE(start.flags & kRowMessage, 0);
    EXPECT_NE(start.request, before);
    before = start.request;
    TraceEvent end = resolve(completion("MPI_Wait", 150 + round * 100, kRequest, 0, 0));
    EXPECT_EQ(end.request, start.request);
    EXPECT_EQ(end.flags & kRowMessage, 0);
  }
  Event drop = call_event("MPI_Request_free", 900);
  drop.request = kRequest;
  resolve(drop);
  EXPECT_EQ(resolve(completion("MPI_Wait", 950, kRequest, 0, 0)).request, 0u);
}

TEST_F(ResolverTest, StartallStartsEachOfItsRequests) {  // (G2)
  constexpr uint64_t kFirst = 0x98000001, kSecond = 0x98000002, kThird = 0x98000003;
  Event make = message("MPI_Send_init_c", 10, 3, 256, kFirst);
  make.flags = 0;
  resolve(make);
  make = message("MPI_Recv_init", 20, kPeerAnySource, 0, kSecond);
  make.flags = 0;
  resolve(make);
  make = message("MPI_Allreduce_init", 30, kPeerNone, 64, kThird);
  make.flags = 0;
  resolve(make);
  for (uint64_t round = 1; round < 3; round++) {
    TraceEvent all = resolve(call_event("MPI_Startall", 100 * round));
    EXPECT_EQ(all.kind, RowKind::kCall);
    EXPECT_EQ(all.request, 0u);
    std::vector<TraceEvent> parts;
    for (uint64_t handle : {kFirst, kSecond, kThird}) {
      Event part = call_event("MPI_Startall", 100 * round);
      part.kind = EventKind::kStart;
      part.request = handle;
      parts.push_back(resolve(part));
      EXPECT_EQ(parts.back().kind, RowKind::kStartPart);
      EXPECT_NE(parts.back().request, 0u);
    }
    EXPECT_EQ(parts[0].peer, 3);
    EXPECT_EQ(parts[0].bytes, 256u);
    EXPECT_NE(parts[0].flags & kRowMessage, 0);
    EXPECT_EQ(parts[1].bytes, 0u);
    EXPECT_EQ(parts[1].flags & kRowMessage, 0);
    EXPECT_EQ(parts[2].bytes, 64u);
    EXPECT_EQ(parts[2].flags & kRowMessage, 0);
    TraceEvent received = resolve(completion("MPI_Waitall", 100 * round + 50, kSecond, 0, 40));
    EXPECT_EQ(received.request, parts[1].request);
    EXPECT_EQ(received.peer, 0);
    EXPECT_EQ(received.bytes, 40u);
    EXPECT_NE(received.flags & kRowMessage, 0);
    EXPECT_EQ(resolve(completion("MPI_Waitall", 100 * round + 50, kFirst, 0, 0)).request, parts[0].request);
    EXPECT_EQ(resolve(completion("MPI_Waitall", 100 * round + 50, kThird, 0, 0)).request, parts[2].request);
  }
  // Waited for without having been started: nothing that moved.
  TraceEvent idle = resolve(completion("MPI_Wait", 900, kSecond, kPeerAnySource, 0));
  EXPECT_EQ(idle.request, 0u);
  EXPECT_EQ(idle.flags & kRowMessage, 0);
  EXPECT_EQ(resolver.unresolved(), 0u);
}

TEST_F(ResolverTest, MatchedReceivesAreOfTheProbesCommunicator) {  // (G20)
  constexpr uint64_t kMessage = 0x4711;
  ASSERT_TRUE(define(communicator_record(5, kSub, 0, {3, 1})));
  uint32_t sub = packet.communicator().id();
  for (bool started : {false, true}) {
    Event probe = message("MPI_Mprobe", 10, kPeerAnySource, 0, kMessage);
    probe.object = kSub;
    probe.flags = 0;
    EXPECT_EQ(resolve(probe).request, 0u);
    Event receive = message(started ? "MPI_Imrecv" : "MPI_Mrecv", 20, started ? kPeerNone : 0, started ? 0 : 40,
                            started ? kRequest : 0);
    receive.object = kMessage;
    TraceEvent row = resolve(receive);
    EXPECT_EQ(row.object, sub);
    if (started) row = resolve(completion("MPI_Wait", 30, kRequest, 0, 40));
    EXPECT_EQ(row.object, sub);
    EXPECT_EQ(row.peer, 3);
    EXPECT_EQ(row.bytes, 40u);
    EXPECT_NE(row.flags & kRowMessage, 0);
  }
  Event receive = message("MPI_Mrecv", 40, 0, 40);
  receive.object = kMessage;
  EXPECT_EQ(resolve(receive).peer, kPeerNone) << "the message is gone";
}

TEST_F(ResolverTest, ProcessesOfAnotherWorldAreForeign) {  // (G17)
  ASSERT_TRUE(define(communicator_record(5, kSub, 0, {0, 1}, {kPeerForeign, kPeerForeign})));
  ASSERT_EQ(packet.communicator().remote_size(), 1);
  EXPECT_EQ(packet.communicator().remote(0).first(), kPeerForeign);
  EXPECT_EQ(packet.communicator().remote(0).count(), 2u);
  EXPECT_EQ(packet.communicator().remote(0).stride(), 0);
  Event event = message("MPI_Send", 30, 1, 8);
  event.object = kSub;
  EXPECT_EQ(resolve(event).peer, kPeerForeign);
  ASSERT_TRUE(define(communicator_record(40, kSub + 1, 0, {1, kPeerForeign, 2})));  // merged
  EXPECT_EQ(packet.communicator().members_size(), 3);
  event.object = kSub + 1;
  event.start = 50;
  EXPECT_EQ(resolve(event).peer, kPeerForeign);
  event.peer = 2;
  EXPECT_EQ(resolve(event).peer, 2);
  EXPECT_EQ(resolver.foreign(), 2u);
  EXPECT_EQ(resolver.unresolved(), 0u);
}

TEST_F(ResolverTest, StartedFileAccesses) {
  Event read = call_event("MPI_File_iread_at", 10);
  read.object = 7;
  read.request = kRequest;
  read.offset = 4096;
  TraceEvent start = resolve(read);
  EXPECT_EQ(start.object, 7u);
  EXPECT_NE(start.request, 0u);
  Event wait = completion("MPI_Wait", 30, kRequest, 12345, 100);
  wait.flags |= kEventCancelled;  // as OMPIO leaves what it does not fill
  TraceEvent end = resolve(wait);
  EXPECT_EQ(end.flags & kRowCancelled, 0);
  EXPECT_EQ(end.request, start.request);
  EXPECT_EQ(end.object, 7u);
  EXPECT_EQ(end.bytes, 100u);
  EXPECT_EQ(end.offset, 4096);
  EXPECT_EQ(end.peer, kPeerNone);
  EXPECT_EQ(end.flags & kRowMessage, 0);
  Event write = call_event("MPI_File_iwrite", 40);
  write.object = 7;
  write.request = kRequest;
  write.bytes = 64;
  start = resolve(write);
  end = resolve(completion("MPI_Wait", 50, kRequest, 0, 0));
  EXPECT_EQ(end.request, start.request);
  EXPECT_EQ(end.bytes, 64u);
}

TEST_F(ResolverTest, OneSidedRequestsRepeatTheirStart) {
  Event put = message("MPI_Rput", 10, 2, 48, kRequest);
  put.flags = 0;
  TraceEvent start = resolve(put);
  TraceEvent end = resolve(completion("MPI_Wait", 20, kRequest, 1, 999));
  EXPECT_EQ(end.request, start.request);
  EXPECT_EQ(end.peer, 2);
  EXPECT_EQ(end.bytes, 48u);
  EXPECT_EQ(end.flags & kRowMessage, 0);
}

TEST_F(ResolverTest, IsendrecvSendsAtItsStartAndReceivesAtItsEnd) {
  TraceEvent start = resolve(message("MPI_Isendrecv", 10, 3, 16, kRequest));
  EXPECT_NE(start.flags & kRowMessage, 0);
  TraceEvent end = resolve(completion("MPI_Wait", 20, kRequest, 0, 24));
  EXPECT_EQ(end.request, start.request);
  EXPECT_EQ(end.peer, 0);
  EXPECT_EQ(end.bytes, 24u);
  EXPECT_NE(end.flags & kRowMessage, 0);
}

TEST_F(ResolverTest, FreedActiveRequestIsClosed) {  // (G23)
  TraceEvent sent = resolve(message("MPI_Isend", 10, 3, 16, kRequest));
  Event drop = call_event("MPI_Request_free", 20);
  drop.request = kRequest;
  EXPECT_EQ(resolve(drop).request, sent.request);
  EXPECT_EQ(resolve(completion("MPI_Wait", 30, kRequest, kPeerNone, 0)).request, 0u);
}

TEST_F(ResolverTest, OneHandleForManySendsThatWereCompleteAtOnce) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 4; i++) numbers.push_back(resolve(message("MPI_Isend", 10 + i, 0, 1 + i, kRequest)).request);
  for (uint64_t i = 0; i < 4; i++) {
    TraceEvent row = resolve(completion("MPI_Waitall", 100, kRequest, 0, 0));
    EXPECT_EQ(row.request, numbers[i]);
    EXPECT_EQ(row.bytes, 1 + i);
  }
}

TEST_F(ResolverTest, OneHandleForAllKindsThatWereCompleteAtOnce) {
  // Among one process MPICH gives collectives, one-sided calls and sends the same handle.
  std::vector<uint64_t> numbers;
  for (const char *name : {"MPI_Iallreduce", "MPI_Ibarrier", "MPI_Rput", "MPI_Isend"}) {
    Event event = message(name, 10, 1, 8, kRequest);
    if (std::string(name) != "MPI_Isend") event.flags = 0;
    numbers.push_back(resolve(event).request);
  }
  for (uint64_t number : numbers) EXPECT_EQ(resolve(completion("MPI_Waitall", 100, kRequest, 0, 0)).request, number);
  EXPECT_EQ(resolver.unresolved(), 0u);
}

TEST_F(ResolverTest, AnEventFindsItsHandlesMeaningManyGenerationsLater) {  // (G10)
  // Definitions are read before events: those of 40000 pairs of dup and free are there when the first send comes.
  constexpr uint64_t kPairs = 40000;
  for (uint64_t i = 0; i < kPairs; i++) {
    ASSERT_TRUE(define(communicator_record(100 + 20 * i, kSub, 0, {static_cast<int32_t>(i % 4), 1})));
    define(communicator_free_record(110 + 20 * i, kSub));
  }
  for (uint64_t i = 0; i < kPairs; i += 777) {
    Event event = message("MPI_Send", 105 + 20 * i, 0, 8);
    event.object = kSub;
    EXPECT_EQ(resolve(event).peer, static_cast<int32_t>(i % 4)) << i;
    event.start += 10;  // freed
    EXPECT_EQ(resolve(event).peer, kPeerNone) << i;
  }
}

TEST_F(ResolverTest, UnknownRequestIsNotInvented) {
  resolve(call_event("MPI_Wait", 100));
  TraceEvent row = resolve(completion("MPI_Wait", 100, kRequest, 0, 640));
  EXPECT_EQ(row.request, 0u);
  EXPECT_EQ(row.peer, kPeerNone);
  EXPECT_EQ(row.flags & kRowMessage, 0);
}

TEST_F(ResolverTest, SavedRequestsAreKnownToASuccessor) {
  TraceEvent posted = resolve(message("MPI_Irecv", 10, 0, 0, kRequest));
  resolve(message("MPI_Isend", 11, 0, 7, kRequest + 1));
  resolve(message("MPI_Isend", 12, 0, 8, kRequest + 1));
  Event probe = message("MPI_Mprobe", 13, kPeerAnySource, 0, 0x4711);
  probe.flags = 0;
  resolve(probe);
  Resolver successor(1, &roles);
  successor.set_world(1, &local);
  std::vector<uint8_t> world = communicator_record(1, kWorld, 1, {0, 1, 2, 3});
  successor.define_communicator(reinterpret_cast<DefinitionHeader *>(world.data()), &packet);
  successor.load(resolver.save());
  TraceEvent row = successor.resolve(completion("MPI_Wait", 100, kRequest, 0, 640), &ring);
  EXPECT_EQ(row.request, posted.request);
  EXPECT_EQ(row.peer, 0);
  EXPECT_EQ(successor.resolve(completion("MPI_Wait", 100, kRequest + 1, 0, 0), &ring).bytes, 7u);
  EXPECT_EQ(successor.resolve(completion("MPI_Wait", 100, kRequest + 1, 0, 0), &ring).bytes, 8u);
  EXPECT_EQ(successor.resolve(message("MPI_Isend", 200, 0, 1, kRequest), &ring).request, 4u);
  Event receive = message("MPI_Mrecv", 210, 3, 40);
  receive.object = 0x4711;
  EXPECT_EQ(successor.resolve(receive, &ring).peer, 3);
}

TEST_F(ResolverTest, MalformedDefinitions) {
  std::vector<uint8_t> record = communicator_record(5, kSub, 0, {0, 1});
  auto *fixed = reinterpret_cast<CommunicatorDefinition *>(record.data());
  for (int32_t size : {-1, 3, 1 << 30, INT32_MAX}) {
    fixed->size = size;
    EXPECT_FALSE(define(record)) << size;
  }
  EXPECT_FALSE(define(communicator_record(5, kSub, 0, {0, -7})));
  // (H1) An end before the start is no huge duration: clamped and counted.
  Event event = message("MPI_Send", 30, 0, 8);
  event.end = 3;
  event.call = 60000;
  TraceEvent row = resolve(event);
  EXPECT_EQ(row.end, row.start);
  EXPECT_EQ(row.call, 0u);
  EXPECT_EQ(resolver.clamped(), 1u);
}

}  // namespace
}  // namespace slurmscope::test
