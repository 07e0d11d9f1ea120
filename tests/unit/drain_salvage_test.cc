// Salvage by hand: what a dead drainer left is in the trace, once; and the spool is as it was when that failed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include <linux/magic.h>

#include "proto/error.h"
#include "profiler/drain/drain_worker.h"
#include "profiler/drain/supervisor.h"
#include "tests/unit/drain_test_support.h"
#include "tests/unit/ring_maker.h"

namespace slurmscope::test {
namespace {

constexpr uint64_t kWorld = 0x44000000;

struct Salvage : testing::Test {
  Salvage() {
    maker.write_file(kDrainFileName, "");  // there was a drainer
    rank = fork();
    if (rank == 0) {
      for (;;) pause();
    }
    auto pid = static_cast<uint32_t>(rank);
    maker.add_process(pid, 0, 0, 1, 1);
    ring = maker.add_ring(pid, 0, 0);
    ring->define(thread_record(1, pid, true));
    ring->define(communicator_record(1, kWorld, 0, {0}));
  }
  ~Salvage() override { kill_rank(); }
  void kill_rank() {
    if (rank <= 0) return;
    kill(rank, SIGKILL);
    waitpid(rank, nullptr, 0);
    rank = 0;
  }
  void send(uint64_t count) {
    for (uint64_t until = sent + count; sent < until; sent++) {
      Event event = call_event("MPI_Send", 1000 + sent * 20);
      event.flags = kEventMessage;
      event.object = kWorld;
      event.peer = 0;
      event.bytes = 1;
      ASSERT_TRUE(ring->push(event));
    }
  }
  /// A drainer that follows, writes what is there and dies.
  void drain_once() {
    Spool spool(maker.path());
    DrainWorker worker(&spool, {});
    for (int rounds = 0; ring->file()->events.tail.load() != sent && rounds < 100; rounds++) {
      worker.round();
      worker.wait(50);
    }
    ASSERT_EQ(ring->file()->events.tail.load(), sent);
  }
  void expect_whole(const std::string &path) {
    DrainedTrace trace(path);
    EXPECT_FALSE(trace.back.damage.damaged) << trace.back.damage.reason;
    EXPECT_EQ((trace.back.rows[{1, 1}].size()), sent);
    EXPECT_EQ(trace.stored_summary(1).peers[0].sent_count, sent);
    const v1::StreamEnd *end = nullptr;
    for (const v1::Packet &packet : trace.back.packets)
      if (packet.has_stream_end()) end = &packet.stream_end();
    ASSERT_NE(end, nullptr);
    EXPECT_FALSE(end->clean());
  }
  std::string refused(const std::string &output = "") {
    try {
      salvage_spool(maker.path(), output, true);
      return "not refused";
    } catch (const Error &error) {
      return error.what();
    }
  }
  std::string spool_file(const char *name) { return file_bytes(maker.path() + "/" + name); }

  SpoolMaker maker;
  TemporaryDirectory other;
  RingMaker *ring = nullptr;
  pid_t rank = 0;
  uint64_t sent = 0;
};

TEST_F(Salvage, WritesWhatIsLeftAndKeepsTheSpool) {
  send(500);
  kill_rank();
  Salvaged salvaged = salvage_spool(maker.path(), "", false);
  EXPECT_EQ(salvaged.trace, maker.trace());
  EXPECT_FALSE(salvaged.is_old || salvaged.is_removed);
  EXPECT_EQ(salvaged.loss, "");
  EXPECT_TRUE(salvaged.running.empty());
  expect_whole(maker.trace());
  std::string bytes = file_bytes(maker.trace());

  salvaged = salvage_spool(maker.path(), "", true);
  EXPECT_TRUE(salvaged.is_old && salvaged.is_removed);
  EXPECT_EQ(salvaged.trace, maker.trace());
  EXPECT_FALSE(std::filesystem::exists(maker.path()));
  EXPECT_EQ(file_bytes(maker.trace()), bytes);
}

TEST_F(Salvage, GoesOnInTheTraceThatWasBegun) {
  send(300);
  drain_once();
  send(200);
  kill_rank();
  EXPECT_EQ(salvage_spool(maker.path(), "", false).trace, maker.trace());
  expect_whole(maker.trace());
}

TEST_F(Salvage, GoesOnInACopyOfIt) {
  send(300);
  drain_once();
  send(200);
  kill_rank();
  std::string begun = file_bytes(maker.trace());
  Salvaged salvaged = salvage_spool(maker.path(), other.path() + "/new/folder", false);
  EXPECT_EQ(salvaged.trace, other.path() + "/new/folder/t.sst");
  EXPECT_EQ(file_bytes(maker.trace()), begun);
  expect_whole(salvaged.trace);
}

TEST_F(Salvage, GoesOnInTheTraceItselfIfTheOutputIsItsFolder) {
  send(300);
  drain_once();
  send(200);
  kill_rank();
  EXPECT_EQ(salvage_spool(maker.path(), maker.output(), false).trace, maker.trace());
  expect_whole(maker.trace());
}

TEST_F(Salvage, RefusesASpoolThatIsFollowed) {
  send(10);
  int lock = open((maker.path() + "/" + kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_NE(refused().find("still followed"), std::string::npos) << refused();
  EXPECT_FALSE(std::filesystem::exists(maker.path() + "/" + kEndName)) << "the step goes on";
  EXPECT_EQ(ring->file()->events.tail.load(), 0u);
  close(lock);
  kill_rank();
  salvage_spool(maker.path(), "", false);
  expect_whole(maker.trace());
}

TEST_F(Salvage, RefusesASpoolWhoseDrainerIsOnlyStarting) {
  std::filesystem::remove(maker.path() + "/" + kDrainFileName);
  EXPECT_NE(refused().find("only starting"), std::string::npos) << refused();
  EXPECT_FALSE(std::filesystem::exists(maker.path() + "/" + kLockName)) << "a lock would leave the step without a drainer";
}

TEST_F(Salvage, RefusesWhatIsNoSpool) {
  std::filesystem::remove(maker.path() + "/" + kStepInfoName);
  EXPECT_NE(refused().find("no spool directory"), std::string::npos) << refused();
}

TEST_F(Salvage, LosesNothingIfTheTraceCannotBeMade) {
  fclose(fopen((other.path() + "/file").c_str(), "w"));
  send(500);
  kill_rank();
  EXPECT_NE(refused(other.path() + "/file").find("/file"), std::string::npos) << refused(other.path() + "/file");
  EXPECT_EQ(ring->file()->events.tail.load(), 0u);
  EXPECT_EQ(salvage_spool(maker.path(), other.path(), false).trace, other.path() + "/t.sst");
  expect_whole(other.path() + "/t.sst");
}

// A disk that is full after the copy was made, and one that is full before.
TEST_F(Salvage, LosesNothingIfTheTraceCannotBeWritten) {
  signal(SIGXFSZ, SIG_IGN);
  send(300);
  drain_once();
  send(200);
  kill_rank();
  std::string begun = file_bytes(maker.trace()), commit = spool_file(kCommitName);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  // The spool's own files, a few kilobytes, have room; a trace has not.
  for (rlim_t limit : {begun.size() - 1, begun.size() + 1}) {
    rlimit small{limit, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    std::string said = refused(other.path());
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_NE(said.find("keeps what is not written"), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(other.path())) << "at " << limit;
    EXPECT_EQ(spool_file(kCommitName), commit);
    EXPECT_EQ(ring->file()->events.tail.load(), 300u);
  }
  Salvaged salvaged = salvage_spool(maker.path(), other.path(), true);
  EXPECT_TRUE(salvaged.is_removed);
  EXPECT_EQ(file_bytes(maker.trace()), begun);
  expect_whole(other.path() + "/t.sst");
}

TEST_F(Salvage, SaysWhoStillLivesAndCanBeRepeated) {
  send(100);
  Salvaged salvaged = salvage_spool(maker.path(), "", true);
  EXPECT_EQ(salvaged.running, std::vector<uint32_t>{static_cast<uint32_t>(rank)});
  EXPECT_FALSE(salvaged.is_removed);
  send(100);
  kill_rank();
  salvaged = salvage_spool(maker.path(), "", true);
  EXPECT_TRUE(salvaged.running.empty());
  EXPECT_TRUE(salvaged.is_removed);
  expect_whole(maker.trace());
}

TEST_F(Salvage, CountsABegunTraceThatIsGone) {
  send(300);
  drain_once();
  send(200);
  kill_rank();
  std::filesystem::remove(maker.trace());
  Salvaged salvaged = salvage_spool(maker.path(), "", false);
  DrainedTrace trace(salvaged.trace);
  EXPECT_EQ(trace.lost(0, "begun trace"), 1u);
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 200u);
}

TEST_F(Salvage, FindsNothingToWriteInASpoolWithoutProcesses) {
  SpoolMaker empty;
  empty.write_file(kDrainFileName, "");
  Salvaged salvaged = salvage_spool(empty.path(), "", true);
  EXPECT_EQ(salvaged.trace, "");
  EXPECT_TRUE(salvaged.is_removed);
  EXPECT_FALSE(std::filesystem::exists(empty.trace()));
}

TEST_F(Salvage, RefusesASpoolFromBeforeTheLastBoot) {
  struct statfs place;
  ASSERT_EQ(statfs(maker.path().c_str(), &place), 0);
  if (place.f_type == TMPFS_MAGIC) GTEST_SKIP() << "a memory file system outlives no boot";
  send(10);
  kill_rank();
  maker.write_file(kStepInfoName, "output=" + maker.output() + "\nfile=t\nsettings=trace\nstart_realtime_ns=1000000000\n");
  EXPECT_NE(refused().find("before this machine was started"), std::string::npos) << refused();
}

}  // namespace
}  // namespace slurmscope::test
