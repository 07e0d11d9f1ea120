// The recorder on its own: files, rings, definitions, and everything that can go wrong with them.
//
// See recorder_test_support.h; call paths and polls have files of their own.
#include "tests/unit/recorder_test_support.h"

namespace slurmscope {

bool read_start_state() { return true; }
bool load_library_state() { return library_state.enabled; }
void io_recording_disable() {}
void start_sampling() {}

namespace {

TEST_F(RecorderTest, EventsAreInTheFileAndNothingElseChanged) {
  EXPECT_EQ(in_child([] {
              umask(0777);
              size_t before = descriptors();
              errno = 77;
              for (uint64_t i = 0; i < 10; i++) REQUIRE(record(i));
              REQUIRE(errno == 77);
              REQUIRE(descriptors() == before);
              umask(022);
              for (const auto &entry : fs::directory_iterator(spool))
                REQUIRE((fs::status(entry).permissions() & fs::perms::mask) == fs::perms(0600));
              RingFile *file = ring();
              REQUIRE(file->magic == kRingMagic && file->ready == 1 && file->event_count == 1024);
              REQUIRE(file->events.head == 10);
              auto *events = reinterpret_cast<Event *>(reinterpret_cast<uint8_t *>(file) + file->event_offset);
              for (uint64_t i = 0; i < 10; i++)
                REQUIRE(events[i].bytes == i && events[i].call == kCall_MPI_Send && events[i].start <= events[i].end);
              auto *process = map<ProcessFile>(own("proc-"));
              REQUIRE(process->magic == kProcessMagic && process->ready == 1);
              REQUIRE(process->pid == static_cast<uint32_t>(getpid()) && process->start_time != 0);
              REQUIRE(strstr(process->exe, "recorder_test") != nullptr && process->directory[0] == '/');
              REQUIRE(process->command_line_size > 0 && process->cpu_mask[0] != 0);
            }),
            0);
}

TEST_F(RecorderTest, WithoutADrainerAFullRingDropsAndCounts) {
  EXPECT_EQ(in_child([] {
              int recorded = 0;
              for (int i = 0; i < 1500; i++) recorded += record();
              REQUIRE(recorded == 1024);
              REQUIRE(ring()->events.head == 1024 && lost(ring(), LossReason::kRingFull) == 476);
              ring()->events.tail = 600;  // a late drainer makes room
              REQUIRE(record() && ring()->events.head == 1025);
            }),
            0);
}

TEST_F(RecorderTest, WaitsForALivingDrainerAndLosesNothing) {
  EXPECT_EQ(in_child([] {
              DrainState *drain = make_drain();
              REQUIRE(record());
              RingFile *file = ring();
              std::atomic<bool> over = false;
              std::thread drainer([&] {
                while (!over) {
                  drain->heartbeat++;
                  uint64_t head = file->events.head, tail = file->events.tail;
                  if (head - tail == file->event_count) file->events.tail = tail + 100;  // only when it is full
                  usleep(100);
                }
              });
              for (int i = 1; i < 5000; i++) REQUIRE(record());
              over = true;
              drainer.join();
              REQUIRE(file->events.head == 5000 && lost(file, LossReason::kRingFull) == 0);
              REQUIRE(file->stalls > 0 && file->stall_ticks > 0);
              REQUIRE(drain->wake > 0);
            }),
            0);
}

TEST_F(RecorderTest, GivesUpOnADrainerThatIsGone) {
  EXPECT_EQ(in_child([] {
              make_drain()->gone = 1;
              for (int i = 0; i < 1100; i++) record();
              REQUIRE(lost(ring(), LossReason::kRingFull) == 76 && ring()->stalls == 0);
            }),
            0);
}

TEST_F(RecorderTest, GivesUpOnADrainerWithoutHeartbeatOnce) {
  EXPECT_EQ(in_child([] {
              DrainState *drain = make_drain();
              timespec from, to;
              clock_gettime(CLOCK_MONOTONIC, &from);
              for (int i = 0; i < 1100; i++) record();
              clock_gettime(CLOCK_MONOTONIC, &to);
              REQUIRE(to.tv_sec - from.tv_sec >= 4 && to.tv_sec - from.tv_sec <= 8);
              REQUIRE(lost(ring(), LossReason::kRingFull) == 76 && ring()->stalls == 1);
              drain->heartbeat++;  // a successor
              ring()->events.tail = 1024;
              REQUIRE(record());
            }),
            0);
}

TEST_F(RecorderTest, GivesUpOnceOnADrainerThatLivesButDoesNotRead) {
  EXPECT_EQ(in_child([] {
              DrainState *drain = make_drain();
              std::atomic<bool> over = false;
              std::thread drainer([&] {
                for (; !over; usleep(100000)) drain->heartbeat++;
              });
              timespec from, to;
              clock_gettime(CLOCK_MONOTONIC, &from);
              for (int i = 0; i < 1100; i++) record();
              clock_gettime(CLOCK_MONOTONIC, &to);
              REQUIRE(to.tv_sec - from.tv_sec >= 9 && to.tv_sec - from.tv_sec <= 13);
              REQUIRE(lost(ring(), LossReason::kRingFull) == 76 && ring()->stalls == 1);
              ring()->events.tail = 100;  // it reads after all
              REQUIRE(record());
              over = true;
              drainer.join();
            }),
            0);
}

TEST_F(RecorderTest, AForksChildHasFilesOfItsOwn) {
  EXPECT_EQ(in_child([] {
              for (int i = 0; i < 5; i++) REQUIRE(record());
              pid_t child = fork();
              if (child == 0) {
                std::thread other([] { REQUIRE(record()); });  // attaches before the thread that forked
                other.join();
                for (int i = 0; i < 3; i++) REQUIRE(record());
                REQUIRE(ring(0)->events.head + ring(1)->events.head == 4);
                _exit(0);
              }
              int status;
              waitpid(child, &status, 0);
              REQUIRE(status == 0);
              REQUIRE(record() && ring()->events.head == 6);
              REQUIRE(ring(0, child) != nullptr && ring(0, child)->pid == static_cast<uint32_t>(child));
              // A child that records nothing leaves nothing.
              size_t before = files();
              child = fork();
              if (child == 0) _exit(0);
              waitpid(child, &status, 0);
              REQUIRE(files() == before);
            }),
            0);
}

TEST_F(RecorderTest, AThreadsRingIsTakenOverByTheNext) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              for (int i = 0; i < 20; i++)
                std::thread([] {
                  REQUIRE(record());
                  RingFile *file = thread_local_state()->recorder->file;
                  retire_thread(thread_local_state()->recorder);
                  REQUIRE(file->retired == 1);
                  REQUIRE(!record());  // the thread is over
                }).join();
              REQUIRE(files() == 3);
              REQUIRE(ring(1)->events.head == 20);
              // Twenty announcements of a thread.
              RingFile *file = ring(1);
              REQUIRE(file->definitions.head == 20 * sizeof(ThreadDefinition));
            }),
            0);
}

TEST_F(RecorderTest, ThreadsBeyondTheLimitAreCounted) {
  EXPECT_EQ(in_child([] {
              library_state.settings.max_rings = 1;
              REQUIRE(record());
              std::thread([] {
                for (int i = 0; i < 10; i++) REQUIRE(!record());
              }).join();
              REQUIRE(files() == 2);
              REQUIRE(map<ProcessFile>(own("proc-"))->lost[static_cast<size_t>(LossReason::kNoRing)] == 10);
            }),
            0);
}

TEST_F(RecorderTest, WithoutDescriptorsNothingIsRecordedAndNothingHappens) {
  EXPECT_EQ(in_child([] {
              rlimit none = {0, 0};
              setrlimit(RLIMIT_NOFILE, &none);
              errno = 5;
              for (int i = 0; i < 10; i++) REQUIRE(!record());
              REQUIRE(errno == 5);
            }),
            0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(RecorderTest, AFileSizeLimitMakesTheRingSmallerAndRaisesNoSignal) {
  EXPECT_EQ(in_child([] {
              rlimit limit = {200 * 1024, 200 * 1024};
              setrlimit(RLIMIT_FSIZE, &limit);
              for (int i = 0; i < 100; i++) REQUIRE(record());
              REQUIRE(ring()->event_count == 512);
            }),
            0);
  EXPECT_EQ(in_child([] {
              rlimit limit = {1024, 1024};
              setrlimit(RLIMIT_FSIZE, &limit);
              REQUIRE(!record());
              REQUIRE(ring() == nullptr);
            }),
            0);
}

// What may be locked is little, and at MPI_Init a rank still smaller than that.
TEST_F(RecorderTest, ALimitOnLockedMemoryMakesOnlyTheRingsOfOthersSmaller) {
  for (bool is_mpi : {true, false})
    EXPECT_EQ(in_child([is_mpi] {
                library_state.settings.ring_kib = 4096;
                char text[32] = "";
                int fd = open("/proc/self/statm", O_RDONLY);
                REQUIRE(read(fd, text, sizeof text - 1) > 0);
                close(fd);
                rlimit lockable;  // a little more than is in use now, as far as the hard limit permits
                REQUIRE(getrlimit(RLIMIT_MEMLOCK, &lockable) == 0);
                lockable.rlim_cur = std::min<rlim_t>(lockable.rlim_max, strtoull(text, nullptr, 10) * 4096 + (2 << 20));
                REQUIRE(setrlimit(RLIMIT_MEMLOCK, &lockable) == 0);
                REQUIRE((is_mpi ? recorder_link->attach_thread() : attach_thread()) != nullptr);
                REQUIRE(ring()->event_count * sizeof(Event) == (is_mpi ? 4u << 20 : 512u << 10));
              }),
              0);
}

TEST_F(RecorderTest, AMissingSpoolIsNoTrouble) {
  EXPECT_EQ(in_child([] {
              strcpy(start_state.spool, "/nonexistent/spool");
              for (int i = 0; i < 10; i++) REQUIRE(!record());
            }),
            0);
  EXPECT_EQ(in_child([] {
              library_state.enabled = false;
              REQUIRE(!record());
            }),
            0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(RecorderTest, SitesHaveOneIdEachAndADefinition) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              uint64_t before = ring()->definitions.head;
              std::vector<uint32_t> ids;
              for (uintptr_t i = 1; i <= 100; i++)
                ids.push_back(recorder_link->site_id({reinterpret_cast<void *>(0x400000 + i * 5), nullptr}));
              for (uintptr_t i = 1; i <= 100; i++)
                REQUIRE(recorder_link->site_id({reinterpret_cast<void *>(0x400000 + i * 5), nullptr}) == ids[i - 1]);
              std::sort(ids.begin(), ids.end());
              REQUIRE(ids[0] > 0 && std::unique(ids.begin(), ids.end()) == ids.end());
              REQUIRE(ring()->definitions.head - before == 100 * (sizeof(SiteDefinition) + 8));
              // A program with more call sites than the table holds: the rest are unknown, not wrong.
              uint32_t unknown = 0;
              RingFile *file = ring();
              for (uintptr_t i = 0; i < 40000; i++) {
                file->definitions.tail = file->definitions.head.load();
                unknown += recorder_link->site_id({reinterpret_cast<void *>(0x10000000 + i * 5), nullptr}) == 0;
              }
              REQUIRE(unknown > 0 && unknown < 20000);
            }),
            0);
}

TEST_F(RecorderTest, DefinitionsGoRoundInOnePiece) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              RingFile *file = ring();
              auto *bytes = reinterpret_cast<uint8_t *>(file) + file->definition_offset;
              uint64_t at = file->definitions.head, round = 0;
              struct Record {
                DefinitionHeader header;
                uint64_t number, filler[150];
              } made = {};
              for (uint64_t i = 0; i < 2000; i++) {
                uint32_t size = 16 + 8 * static_cast<uint32_t>(i * 7 % 150);
                made.header = {size, DefinitionKind::kFile, 0};
                made.number = i;
                REQUIRE(define(&made.header));
                auto *found = reinterpret_cast<Record *>(bytes + (at & (file->definition_bytes - 1)));
                if (found->header.kind == DefinitionKind::kPadding) {
                  at += found->header.size;
                  REQUIRE((at & (file->definition_bytes - 1)) == 0);
                  round++;
                  found = reinterpret_cast<Record *>(bytes);
                }
                REQUIRE(found->header.size == size && found->number == i);
                at += size;
                REQUIRE(file->definitions.head == at);
                file->definitions.tail = at;
              }
              REQUIRE(round >= 4);
              made.header.size = static_cast<uint32_t>(file->definition_bytes) + 8;  // never fits
              REQUIRE(!define(&made.header) && lost(file, LossReason::kDefinition) == 1);
            }),
            0);
}

TEST_F(RecorderTest, NotesBeforeTheFirstRingAreKept) {
  EXPECT_EQ(in_child([] {
              note("something about this process");
              REQUIRE(record());
              auto *file = ring();
              auto *header = reinterpret_cast<DefinitionHeader *>(reinterpret_cast<uint8_t *>(file) +
                                                                  file->definition_offset + sizeof(ThreadDefinition));
              REQUIRE(header->kind == DefinitionKind::kNote);
              auto *made = reinterpret_cast<NoteDefinition *>(header);
              REQUIRE(std::string(reinterpret_cast<char *>(made + 1), made->text_size) == "something about this process");
            }),
            0);
}

// In a frame of its own, as a call inside the call has.
__attribute__((noinline)) bool is_nested_below() {
  bool nested = is_nested();
  __asm__ volatile("" : "+r"(nested));
  return nested;
}
__attribute__((noinline)) void hide_below() {
  Hidden hidden;
  REQUIRE(is_nested_below());
}

TEST_F(RecorderTest, ACallInsideACallIsNested) {
  EXPECT_EQ(in_child([] {
              REQUIRE(!is_nested_below());
              {
                Recording outer(kCall_MPI_Send);
                REQUIRE(is_nested_below());
                hide_below();
                REQUIRE(is_nested_below() && outer.finish() != nullptr && is_nested_below());
                outer.publish();
              }
              REQUIRE(!is_nested_below());
            }),
            0);
}

__attribute__((noinline)) void leave_without_end(uintptr_t *guard) {
  Recording abandoned(kCall_MPI_Send);
  *guard = thread_local_state()->guard;
}

TEST_F(RecorderTest, AFrameAboveAnAbandonedCallIsNotInsideIt) {
  EXPECT_EQ(in_child([] {
              uintptr_t guard;
              leave_without_end(&guard);
              thread_local_state()->guard = guard;  // as if that frame had been jumped out of
              REQUIRE(!is_nested() && thread_local_state()->guard == 0);
            }),
            0);
}

TEST_F(RecorderTest, AVforksChildIsInsideAndItsParentIsNot) {
  EXPECT_EQ(in_child([] {
              thread_local_state()->guard = kGuardVfork;
              pid_t child = vfork();
              if (child == 0) _exit(is_vfork_child() && is_nested_below() ? 0 : 1);
              int status = -1;
              waitpid(child, &status, 0);
              REQUIRE(status == 0);
              REQUIRE(!is_nested_below() && thread_local_state()->guard == 0);
            }),
            0);
}

TEST_F(RecorderTest, ManyThreadsLoseNothing) {
  EXPECT_EQ(in_child([] {
              std::vector<std::thread> threads;
              std::atomic<int> ready = 0;
              REQUIRE(record());
              for (int t = 0; t < 8; t++)
                threads.emplace_back([&] {
                  ready++;
                  while (ready < 8) sched_yield();
                  for (int i = 0; i < 200; i++) REQUIRE(record());
                });
              for (auto &thread : threads) thread.join();
              uint64_t total = 0;
              for (int k = 0; k < 9; k++) total += ring(k)->events.head;
              REQUIRE(total == 1601);
            }),
            0);
}

}  // namespace
}  // namespace slurmscope
