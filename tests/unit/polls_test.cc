// Polls that find nothing: one event for many of them, never late, never lost.
#include "tests/unit/recorder_test_support.h"

namespace slurmscope {
namespace {

// A place in the program, as a wrapper sees it.
CallSite place(uintptr_t number) { return {reinterpret_cast<void *>(0x400000 + number * 5), nullptr}; }
void poll(uint16_t call, uintptr_t where, int times = 1, uint64_t object = 0, int32_t peer = kPeerNone, int32_t tag = 0) {
  for (int i = 0; i < times; i++) {
    Recording recording(call);
    recording.finish_poll(place(where), object, peer, tag);
  }
}

// (G18)
TEST_F(RecorderTest, PollsBecomeOneEventBeforeTheNext) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              thread_local_state()->recorder->polls_limit = UINT64_MAX;
              poll(kCall_MPI_Iprobe, 1, 1000, 77, 3, 5);
              uint64_t before = now_ticks();
              poll(kCall_MPI_Iprobe, 1, 1, 77, 3, 5);
              REQUIRE(ring()->events.head == 1);
              REQUIRE(record());
              std::vector<Event> events = events_of(ring());
              REQUIRE(events.size() == 3);
              const Event &polls = events[1];
              REQUIRE(polls.kind == EventKind::kPolls && polls.call == kCall_MPI_Iprobe && polls.request == 1001);
              REQUIRE(polls.start >= events[0].end && polls.end > before && polls.end <= events[2].start);
              REQUIRE(polls.offset > 0 && static_cast<uint64_t>(polls.offset) < polls.end - polls.start);
              REQUIRE(polls.object == 77 && polls.peer == 3 && polls.tag == 5 && polls.site != 0 && polls.flags == 0);
              REQUIRE(events[2].kind == EventKind::kCall);
              REQUIRE(record() && ring()->events.head == 4);  // nothing is open any more
            }),
            0);
}

TEST_F(RecorderTest, PollsOfSeveralPlacesInTurnStayFewEvents) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              thread_local_state()->recorder->polls_limit = UINT64_MAX;
              for (int i = 0; i < 500; i++) {
                poll(kCall_MPI_Iprobe, 1, 1, 77, i % 2, 5);  // probes for two peers, on two communicators
                poll(kCall_MPI_Iprobe, 2, 1, 77u + static_cast<unsigned>(i % 2), 1, i % 3);
                poll(kCall_MPI_Testany, 3);
                poll(kCall_MPI_Test, 3);
              }
              REQUIRE(record());
              std::vector<Event> events = events_of(ring());
              REQUIRE(events.size() == 6);
              for (size_t i = 1; i <= 4; i++) REQUIRE(events[i].kind == EventKind::kPolls && events[i].request == 500);
              for (size_t i = 1; i < 5; i++) REQUIRE(events[i].end <= events[i + 1].end);
              REQUIRE(events[1].object == 77 && events[1].peer == kPeerNone && events[1].tag == 5);
              REQUIRE(events[2].object == 0 && events[2].peer == kPeerNone && events[2].tag == 0);
              // A fifth place: the others are closed.
              for (uintptr_t where = 10; where < 15; where++) poll(kCall_MPI_Test, where, 3);
              REQUIRE(ring()->events.head == 6 + 4);
              REQUIRE(record() && ring()->events.head == 6 + 4 + 2);
            }),
            0);
}

TEST_F(RecorderTest, PollsAreClosedAfterAWhileAndAtTheEndOfAThread) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              uint64_t limit = thread_local_state()->recorder->polls_limit;
              REQUIRE(limit == (process_state.recorder.uses_tsc ? 25'000'000 : 10'000'000));
              uint64_t calls = 0;
              for (uint64_t start = now_ticks(); now_ticks() - start < 10 * limit; calls++) poll(kCall_MPI_Test, 1);
              uint64_t closed = ring()->events.head;
              REQUIRE(closed >= 4 && closed <= 11);
              REQUIRE(record());
              uint64_t sum = 0;
              for (const Event &event : events_of(ring())) {
                if (event.kind != EventKind::kPolls) continue;
                sum += event.request;
              }
              REQUIRE(sum == calls);
              std::thread([] {
                poll(kCall_MPI_Test, 1, 10);
                REQUIRE(ring(1)->events.head == 0 && ring(1)->polls[kPollRows - 1].count == 10);
                retire_thread(thread_local_state()->recorder);
                REQUIRE(ring(1)->events.head == 1 && events_of(ring(1))[0].request == 10);
              }).join();
            }),
            0);
}

TEST_F(RecorderTest, PollsNeedNoRoomAndAForksChildHasItsOwn) {
  EXPECT_EQ(in_child([] {
              for (int i = 0; i < 1024; i++) REQUIRE(record());  // full, and no drainer
              poll(kCall_MPI_Test, 1, 50);
              thread_local_state()->recorder->polls_limit = 0;
              poll(kCall_MPI_Test, 1, 50);  // cannot be closed: it grows on
              REQUIRE(lost(ring(), LossReason::kRingFull) == 0 && first_open_row(ring()->polls)->count == 100);
              pid_t child = fork();
              if (child == 0) {
                poll(kCall_MPI_Test, 1, 7);
                REQUIRE(record() && events_of(ring())[0].request == 7);
                _exit(0);
              }
              int status;
              waitpid(child, &status, 0);
              REQUIRE(status == 0);
              REQUIRE(first_open_row(ring()->polls)->count == 100);
              ring()->events.tail = 10;
              REQUIRE(record() && ring()->events.head == 1026);
              auto *events = reinterpret_cast<Event *>(reinterpret_cast<uint8_t *>(ring()) + ring()->event_offset);
              REQUIRE(events[0].kind == EventKind::kPolls && events[0].request == 100);
            }),
            0);
}

}  // namespace
}  // namespace slurmscope
