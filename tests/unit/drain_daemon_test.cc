// The installed shape of the drainer: daemon, supervisor, --finish, and what happens when one of them dies.
// Runs ./slurmscope-drain, as `make check` does, or what DRAIN names.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "profiler/drain/process_watch.h"
#include "profiler/drain/spool.h"
#include "tests/unit/drain_test_support.h"
#include "tests/unit/ring_maker.h"

namespace slurmscope::test {
namespace {

constexpr uint64_t kWorld = 0x44000000;

struct Outcome {
  int code;
  std::string said;  // on stderr
};

Outcome drain(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, "pipe"};
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    const char *program = getenv("DRAIN") != nullptr ? getenv("DRAIN") : "./slurmscope-drain";
    std::vector<char *> list{const_cast<char *>(program)};
    for (std::string &argument : arguments) list.push_back(argument.data());
    list.push_back(nullptr);
    execv(program, list.data());
    _exit(127);
  }
  close(ends[1]);
  std::string said;  // read to its end: a daemon must not keep it open
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), said};
}

struct DrainDaemon : testing::Test {
  ~DrainDaemon() override {
    if (access((maker.path() + "/step.info").c_str(), F_OK) == 0) drain({"--finish", maker.path(), "--timeout", "20"});
  }
  void start() {
    Outcome outcome = drain({"--spool", maker.path()});
    ASSERT_EQ(outcome.code, 0) << outcome.said;
    lock = open((maker.path() + "/" + kLockName).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(lock, 0);
  }
  Outcome finish(const char *timeout = "20") { return drain({"--finish", maker.path(), "--timeout", timeout}); }
  void add_rank() {
    auto pid = static_cast<uint32_t>(getpid());
    maker.add_process(pid, 0, 0, 1, 1);
    ring = maker.add_ring(pid, 0, 0, 256);
    ring->define(thread_record(1, pid, true));
    ring->define(communicator_record(1, kWorld, 0, {0}));
  }
  void send(uint64_t count) {
    for (uint64_t until = sent + count; sent < until;) {
      Event event = call_event("MPI_Send", 1000 + sent * 20);
      event.flags = kEventMessage;
      event.object = kWorld;
      event.peer = 0;
      event.bytes = 1;
      if (ring->push(event)) sent++;
      else maker.wake_drainer();
    }
  }
  // The worker, as its page in the spool names it.
  pid_t worker() const {
    uint32_t pid = 0;
    int file = open((maker.path() + "/" + kDrainFileName).c_str(), O_RDONLY | O_CLOEXEC);
    if (pread(file, &pid, sizeof pid, offsetof(DrainState, pid)) != sizeof pid) pid = 0;
    close(file);
    return static_cast<pid_t>(pid);
  }
  static pid_t parent_of(pid_t pid) {
    std::string text = file_bytes("/proc/" + std::to_string(pid) + "/stat");
    int parent = 0;
    sscanf(text.c_str() + text.rfind(')') + 1, " %*c %d", &parent);
    return parent;
  }
  // Returns once supervisor and worker are gone.
  void await_gone() const { EXPECT_EQ(flock(lock, LOCK_EX), 0); }
  bool has_spool() const { return access(maker.path().c_str(), F_OK) == 0; }
  void expect_whole(bool is_clean) {
    DrainedTrace trace(maker.trace());
    EXPECT_FALSE(trace.back.damage.damaged) << trace.back.damage.reason;
    EXPECT_EQ((trace.back.rows[{1, 1}].size()), sent);
    EXPECT_EQ(trace.stored_summary(1).peers[0].sent_count, sent);
    bool has_end = false;
    for (const v1::Packet &packet : trace.back.packets)
      if (packet.has_stream_end()) {
        has_end = true;
        EXPECT_EQ(packet.stream_end().clean(), is_clean) << packet.stream_end().detail();
      }
    EXPECT_TRUE(has_end);
  }

  SpoolMaker maker;
  RingMaker *ring = nullptr;
  uint64_t sent = 0;
  int lock = -1;
};

TEST_F(DrainDaemon, FollowsFinishesAndCleansUp) {
  start();
  add_rank();
  send(2000);
  Outcome outcome = finish();
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_EQ(outcome.said, "");
  EXPECT_FALSE(has_spool());
  expect_whole(true);
}

TEST_F(DrainDaemon, IsNoChildOfItsStarter) {
  start();
  EXPECT_NE(parent_of(worker()), getpid());
  EXPECT_NE(parent_of(parent_of(worker())), getpid());
  EXPECT_NE(getsid(worker()), getsid(0));
}

TEST_F(DrainDaemon, IsOnePerSpool) {
  start();
  Outcome second = drain({"--spool", maker.path()});
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.said.find("another drainer"), std::string::npos) << second.said;
}

TEST_F(DrainDaemon, AKilledWorkerIsReplaced) {
  start();
  add_rank();
  for (int lives = 0; lives < 3; lives++) {
    send(1000);
    pid_t before = worker();
    kill(before, SIGKILL);
  }
  send(1000);
  Outcome outcome = finish();
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  expect_whole(true);
}

TEST_F(DrainDaemon, FinishSalvagesWhatADeadDrainerLeft) {
  start();
  add_rank();
  send(500);
  pid_t child = worker(), supervisor = parent_of(child);
  kill(supervisor, SIGKILL);
  kill(child, SIGKILL);
  await_gone();
  flock(lock, LOCK_UN);
  uint64_t more = 0;  // the application goes on into what room is left
  for (; more < 100 && ring->file()->events.head - ring->file()->events.tail < 256; more++) send(1);
  Outcome outcome = finish();
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_FALSE(has_spool());
  expect_whole(false);
}

TEST_F(DrainDaemon, FinishDoesNotWaitForever) {
  start();
  add_rank();
  send(100);
  pid_t child = worker();
  kill(child, SIGSTOP);
  auto before = std::chrono::steady_clock::now();
  Outcome outcome = finish("1");
  auto took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(std::count(outcome.said.begin(), outcome.said.end(), '\n'), 1) << outcome.said;
  EXPECT_GE(took, std::chrono::milliseconds(900));
  EXPECT_LT(took, std::chrono::seconds(15));
  // Left to itself it still writes everything and removes the spool.
  kill(child, SIGCONT);
  await_gone();
  EXPECT_FALSE(has_spool());
  expect_whole(true);
}

TEST_F(DrainDaemon, NothingWrittenIsSaidInOneLine) {
  fclose(fopen(maker.output().c_str(), "w"));
  start();
  add_rank();
  send(1000);
  Outcome outcome = finish();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.said.find(maker.output()), std::string::npos) << outcome.said;
  EXPECT_EQ(std::count(outcome.said.begin(), outcome.said.end(), '\n'), 1) << outcome.said;
  EXPECT_FALSE(has_spool());
}

TEST_F(DrainDaemon, EndsByItselfWhenItsStarterIsGone) {
  pid_t starter = fork();
  if (starter == 0) _exit(0);
  waitpid(starter, nullptr, 0);
  maker.write_file("step.info", "starter_pid=" + std::to_string(starter) + "\n");
  pid_t rank = fork();
  if (rank == 0) {
    pause();
    _exit(0);
  }
  auto pid = static_cast<uint32_t>(rank);
  maker.add_process(pid, 0, 0, 1, 1);
  ring = maker.add_ring(pid, 0, 0, 256);
  ring->define(thread_record(1, pid, true));
  ring->define(communicator_record(1, kWorld, 0, {0}));
  start();
  send(300);
  EXPECT_NE(flock(lock, LOCK_EX | LOCK_NB), 0) << "it follows as long as a process lives";
  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  await_gone();
  EXPECT_FALSE(has_spool());
  expect_whole(false);
}

TEST_F(DrainDaemon, CostsNothingWhenNothingHappens) {
  start();
  auto ticks_of = [](pid_t pid) {
    std::string text = file_bytes("/proc/" + std::to_string(pid) + "/stat");
    unsigned long user = 0, system = 0;
    sscanf(text.c_str() + text.rfind(')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return user + system;
  };
  pid_t pid = worker();
  unsigned long before = ticks_of(pid);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // what is measured is how it spends this time
  EXPECT_LE(ticks_of(pid) - before, 4u) << "hundredths of a second in 2 s";
}

TEST(DrainCommand, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(drain({"--help"}).code, 0);
  EXPECT_EQ(drain({}).code, 2);
  EXPECT_EQ(drain({"--wrong"}).code, 2);
  EXPECT_EQ(drain({"--spool"}).code, 2);
  EXPECT_EQ(drain({"--finish", "/tmp", "--timeout", "soon"}).code, 2);
  Outcome outcome = drain({"--spool", "/nonexistent/spool"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.said.find("/nonexistent/spool"), std::string::npos);
  EXPECT_EQ(std::count(outcome.said.begin(), outcome.said.end(), '\n'), 1);
  EXPECT_EQ(drain({"--finish", "/nonexistent/spool"}).code, 1);
}

}  // namespace
}  // namespace slurmscope::test
