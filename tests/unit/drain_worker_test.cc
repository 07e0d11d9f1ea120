// From rings to a trace file: nothing missing, nothing twice, whoever dies in between.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/error.h"
#include "profiler/drain/drain_worker.h"
#include "tests/unit/drain_test_support.h"
#include "tests/unit/ring_maker.h"

namespace slurmscope::test {
namespace {

constexpr uint64_t kWorld = 0x44000000, kRequest = 0x98000000;

Event send_event(uint64_t start, int32_t peer, uint64_t bytes) {
  Event event = call_event("MPI_Send", start);
  event.flags = kEventMessage;
  event.object = kWorld;
  event.peer = peer;
  event.bytes = bytes;
  return event;
}

std::string run_to_end(const SpoolMaker &maker) {
  Spool spool(maker.path());
  maker.write_file(kEndName, "");
  DrainWorker worker(&spool, {});
  return worker.run();
}

struct Rank {
  ProcessFile *process;
  RingMaker *ring;
};
Rank add_rank(SpoolMaker *maker, uint32_t number, int32_t rank, uint64_t events = 1024, bool has_samples = false) {
  auto pid = static_cast<uint32_t>(getpid());
  Rank added{maker->add_process(pid, number, rank, 2, 2), maker->add_ring(pid, number, 0, events, has_samples)};
  added.ring->define(thread_record(1, pid, true));
  added.ring->define(communicator_record(1, kWorld, rank, {0, 1}));
  return added;
}

TEST(DrainWorker, WritesWhatTheRingsHold) {
  SpoolMaker maker;
  Rank zero = add_rank(&maker, 0, 0), one = add_rank(&maker, 1, 1);
  zero.ring->define(site_record(3, {0x1000, 0x2000}));
  for (uint64_t i = 0; i < 100; i++) {
    Event event = send_event(1000 + i * 100, 1, 64);
    event.site = 3;
    zero.ring->push(event);
    event = call_event("MPI_Recv", 1000 + i * 100);
    event.flags = kEventMessage;
    event.object = kWorld;
    event.peer = 0;
    event.bytes = 64;
    one.ring->push(event);
  }
  zero.ring->define(file_record(1, "/tmp/a\xff" "b"));
  Event write = call_event("write", 50000);
  write.object = 1;
  write.bytes = 10;
  zero.ring->push(write);
  EXPECT_EQ(run_to_end(maker), "");

  DrainedTrace trace(maker.trace());
  EXPECT_FALSE(trace.back.damage.damaged) << trace.back.damage.reason;
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 101u);
  EXPECT_EQ((trace.back.rows[{2, 1}].size()), 100u);
  const TraceEvent &row = trace.back.rows[{1, 1}][0];
  EXPECT_EQ(trace.name_of(row), "MPI_Send");
  EXPECT_EQ(row.peer, 1);
  EXPECT_EQ(row.site, 3u);
  EXPECT_EQ((row.flags & kRowLocalityMask) >> kRowLocalityShift, static_cast<int>(Locality::kNode));
  Summary stored = trace.stored_summary(1);
  EXPECT_TRUE(stored == trace.recomputed_summary(1));
  EXPECT_EQ(stored.peers[1].sent_bytes, 6400u);
  EXPECT_EQ(stored.files[1].bytes_written, 10u);
  EXPECT_TRUE(trace.stored_summary(2) == trace.recomputed_summary(2));
  v1::Process process = trace.process(1);
  EXPECT_EQ(process.world_rank(), 0);
  EXPECT_EQ(process.arguments_size(), 2);
  EXPECT_TRUE(trace.back.packets[0].has_header());
  bool has_end = false, has_run = false, has_node = false, has_file = false, has_module = false, has_anchor = false;
  for (const v1::Packet &packet : trace.back.packets) {
    has_end |= packet.has_stream_end() && packet.stream_end().clean();
    has_run |= packet.has_run() && packet.run().job() == "77" && packet.run().extra().at("site_key") == "kept" &&
               packet.run().local_tasks_size() == 2;
    has_node |= packet.has_node() && packet.node().cpus_online() > 0;
    has_file |= packet.has_file() && packet.file().path() == "/tmp/a\\xffb";
    has_module |= packet.has_module() && packet.module().path().find("drain_test") != std::string::npos;
    has_anchor |= packet.has_clock_anchors();
  }
  EXPECT_TRUE(has_end && has_run && has_node && has_file && has_module && has_anchor);
  struct stat status;
  ASSERT_EQ(stat(maker.trace().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(maker.output().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(DrainWorker, NoProcessNoFile) {
  SpoolMaker maker;
  EXPECT_EQ(run_to_end(maker), "");
  EXPECT_NE(access(maker.output().c_str(), F_OK), 0);
}

// Short processes must be seen while they live: their mapped objects and their end are only known then.
TEST(DrainWorker, ANewFileEndsTheWait) {
  SpoolMaker maker;
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  worker.listen();
  ASSERT_TRUE(worker.round());
  pid_t child = fork();
  if (child == 0) {
    timespec moment{0, 100'000'000};  // the parent waits by then; if not, its wait ends at once
    nanosleep(&moment, nullptr);
    maker.write_file("proc-1-0", "");
    _exit(0);
  }
  uint64_t before = monotonic_ns();
  worker.wait(20000);
  EXPECT_LT(monotonic_ns() - before, 10'000'000'000u);
  waitpid(child, nullptr, 0);
}

TEST(DrainWorker, SummaryModeWritesNoRows) {
  SpoolMaker maker("summary");
  Rank rank = add_rank(&maker, 0, 0);
  for (uint64_t i = 0; i < 50; i++) rank.ring->push(send_event(100 + i * 20, 1, 8));
  EXPECT_EQ(run_to_end(maker), "");
  DrainedTrace trace(maker.trace());
  EXPECT_TRUE(trace.back.rows.empty());
  Summary summary = trace.stored_summary(1);
  EXPECT_EQ(summary.peers[1].sent_count, 50u);
}

// (H2) A process in a time namespace of its own, 5000 s ahead: its times become the drainer's, and a successor of
// the drainer goes on with the same shift although the wall clock was set meanwhile.
TEST(DrainWorker, ATimeNamespaceIsSeenThrough) {
  constexpr uint64_t kAhead = 5'000'000'000'000;
  auto wall = [] {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  };
  SpoolMaker maker;
  auto pid = static_cast<uint32_t>(getpid());
  uint64_t start = monotonic_ns();
  Rank zero{maker.add_process(pid, 0, 0, 2, 2), maker.add_ring(pid, 0, 0, 1024, false)};
  zero.ring->define(thread_record(start + kAhead, pid, true));
  zero.ring->define(communicator_record(start + kAhead, kWorld, 0, {0, 1}));
  zero.process->time_namespace = 1;  // nobody's: inodes of namespaces are large
  zero.process->start_time += 500'000;  // as it reads it there
  zero.process->attach_ticks = start + kAhead;
  zero.process->attach_monotonic_ns = static_cast<int64_t>(monotonic_ns() + kAhead);
  zero.process->attach_realtime_ns = wall();
  zero.process->clock_error_ns = 1'000'000;  // what this thread may be interrupted for between the two
  zero.ring->push(send_event(start + kAhead + 1000, 1, 8));
  Spool spool(maker.path());
  {
    // Killed once it has written something.
    DrainWorker worker(&spool, {});
    for (int i = 0; i < 600 && file_bytes(maker.trace()).empty(); i++) {
      worker.round();
      worker.wait(50);
    }
  }
  zero.process->attach_realtime_ns += 30'000'000'000;
  zero.ring->push(send_event(start + kAhead + 2000, 1, 8));
  EXPECT_EQ(run_to_end(maker), "");

  DrainedTrace trace(maker.trace());
  v1::Process process = trace.process(1);
  constexpr double kTolerance = 2e9;  // the test, not the method, may be interrupted between its readings
  EXPECT_NEAR(static_cast<double>(process.monotonic_shift_ns()), static_cast<double>(kAhead), kTolerance);
  EXPECT_GE(process.monotonic_shift_error_ns(), 1'000'000u);
  EXPECT_FALSE(process.has_end_ticks()) << "it lives, although its start time is another number here";
  auto rows = trace.back.rows[{1, 1}];
  ASSERT_EQ(rows.size(), 2u);
  uint64_t shift = static_cast<uint64_t>(process.monotonic_shift_ns());
  EXPECT_EQ(rows[0].start, start + kAhead + 1000 - shift);
  EXPECT_EQ(rows[1].start, start + kAhead + 2000 - shift) << "the same shift after a restart";
  EXPECT_EQ(process.attach_ticks(), start + kAhead - shift);
  EXPECT_EQ(rows[0].peer, 1) << "the communicator is known at that time";
}

// A predecessor was killed between making the file and writing to it.
TEST(DrainWorker, AnEmptyFileOfAPredecessorIsTaken) {
  SpoolMaker maker;
  Rank zero = add_rank(&maker, 0, 0);
  zero.ring->push(send_event(1000, 1, 64));
  mkdir(maker.output().c_str(), 0700);
  Descriptor file(open(maker.trace().c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
  struct stat status;
  ASSERT_EQ(fstat(file.get(), &status), 0);
  maker.write_file("commit", CommitRecord{maker.trace(), status.st_ino, 0, UINT64_MAX, 0, 0, true, {}}.serialize());
  EXPECT_EQ(run_to_end(maker), "");
  DrainedTrace trace(maker.trace());
  EXPECT_FALSE(trace.back.damage.damaged) << trace.back.damage.reason;
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 1u);
}

// Rings wrap many times while the drainer follows; the producer waits for room as the real one does.
TEST(DrainWorker, FollowsAWrappingRing) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0, 64);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  uint64_t sent = 0;
  while (sent < 5000) {
    while (sent < 5000 && rank.ring->push(send_event(100 + sent * 20, 1, sent + 1))) sent++;
    ASSERT_TRUE(worker.round());
  }
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "");
  DrainedTrace trace(maker.trace());
  const auto &rows = trace.back.rows[{1, 1}];
  ASSERT_EQ(rows.size(), 5000u);
  for (uint64_t i = 0; i < rows.size(); i++) ASSERT_EQ(rows[i].bytes, i + 1);
  EXPECT_TRUE(trace.stored_summary(1) == trace.recomputed_summary(1));
}

TEST(DrainWorker, DefinitionsWrapToo) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  std::string path(1000, 'x');
  for (uint32_t id = 1; id <= 1000;) {
    while (id <= 1000 && rank.ring->define(file_record(id, path + std::to_string(id)))) id++;
    ASSERT_TRUE(worker.round());
  }
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "");
  uint32_t files = 0;
  for (const v1::Packet &packet : DrainedTrace(maker.trace()).back.packets)
    if (packet.has_file()) {
      files++;
      EXPECT_EQ(packet.file().path(), path + std::to_string(packet.file().id()));
    }
  EXPECT_EQ(files, 1000u);
}

TEST(DrainWorker, RequestPostedInOneThreadCompletedInAnother) {
  SpoolMaker maker;
  auto pid = static_cast<uint32_t>(getpid());
  Rank rank = add_rank(&maker, 0, 0);
  RingMaker *other = maker.add_ring(pid, 0, 1);
  other->define(thread_record(1, 4242, false));
  // The waiting thread's ring is filled first and its file comes later in the directory order.
  for (uint64_t i = 0; i < 100; i++) {
    uint64_t time = 1000 + i * 100;
    other->push(call_event("MPI_Wait", time + 50));
    Event end = call_event("MPI_Wait", time + 50);
    end.kind = EventKind::kComplete;
    end.flags = kEventMessage;
    end.request = kRequest;
    end.peer = 1;
    end.bytes = i;
    other->push(end);
    Event post = call_event("MPI_Irecv", time);
    post.object = kWorld;
    post.peer = 1;
    post.request = kRequest;
    rank.ring->push(post);
  }
  EXPECT_EQ(run_to_end(maker), "");
  DrainedTrace trace(maker.trace());
  const auto &posts = trace.back.rows[{1, 1}];
  const auto &waits = trace.back.rows[{1, 2}];
  ASSERT_EQ(posts.size(), 100u);
  ASSERT_EQ(waits.size(), 200u);
  for (size_t i = 0; i < 100; i++) {
    EXPECT_EQ(waits[2 * i + 1].request, posts[i].request);
    EXPECT_EQ(trace.name_of(waits[2 * i + 1]), "MPI_Irecv");
    EXPECT_EQ(waits[2 * i + 1].start, posts[i].start);
  }
  EXPECT_TRUE(trace.stored_summary(1) == trace.recomputed_summary(1));
  EXPECT_EQ(trace.stored_summary(1).peers[1].received_bytes, 99u * 100 / 2);
}

// A new thread posts a request and another one completes it, after the drainer looked for rings and before it takes events.
TEST(DrainWorker, ANewRingIsReadNoLaterThanWhatDependsOnIt) {
  SpoolMaker maker;
  auto pid = static_cast<uint32_t>(getpid());
  Rank rank = add_rank(&maker, 0, 0);
  Spool spool(maker.path());
  Journal journal(&spool);
  ASSERT_TRUE(journal.open([](Journal::Kind, std::string_view) {}));
  v1::CallTable table;
  CallRoles roles = CallRoles::built_in(&table);
  Follower follower(&spool, &journal, &roles);
  ASSERT_TRUE(follower.discover());
  follower.watch_processes();
  RingMaker *fresh = maker.add_ring(pid, 0, 1);
  fresh->define(thread_record(1, 4242, false));
  Event post = call_event("MPI_Irecv", 1000);
  post.object = kWorld;
  post.peer = 1;
  post.request = kRequest;
  fresh->push(post);
  Event end = call_event("MPI_Wait", 1100);
  end.kind = EventKind::kComplete;
  end.flags = kEventMessage;
  end.request = kRequest;
  end.peer = 1;
  end.bytes = 8;
  rank.ring->push(end);
  follower.collect(true, true);
  const auto &rings = follower.find_process(1)->rings;
  ASSERT_EQ(rings.size(), 2u);
  ASSERT_EQ(rings[0]->rows.size(), 1u);
  ASSERT_EQ(rings[1]->rows.size(), 1u);
  EXPECT_EQ(rings[0]->rows[0].request, rings[1]->rows[0].request);
  EXPECT_EQ(rings[0]->rows[0].start, rings[1]->rows[0].start);
}

TEST(DrainWorker, ARingHasOneThreadAfterAnother) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0);
  rank.ring->push(send_event(100, 1, 1));
  rank.ring->define(thread_record(200, 99, false));
  rank.ring->push(send_event(300, 1, 2));
  EXPECT_EQ(run_to_end(maker), "");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 1u);
  EXPECT_EQ((trace.back.rows[{1, 2}].size()), 1u);
}

TEST(DrainWorker, SamplesCountersAndNotes) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0, 1024, true);
  rank.ring->define(counter_record(0, "PAPI_TOT_INS"));
  rank.ring->define(note_record(5, "counter PAPI_L3_TCM: not available here"));
  rank.ring->define(note_record(6, "something else: \x01 odd"));
  rank.ring->sample(counter_sample_record(10, {100}, false));
  rank.ring->sample(stack_sample_record(11, {0x10, 0x20}));
  rank.ring->sample(stack_sample_record(12, {0x10, 0x20}));
  rank.ring->sample(stack_sample_record(13, {0x30}));
  rank.ring->sample(counter_sample_record(14, {250}, true));
  EXPECT_EQ(run_to_end(maker), "");
  v1::CounterSet set;
  v1::CounterSamples counters;
  v1::StackSamples stacks;
  int paths = 0, notes = 0;
  for (const v1::Packet &packet : DrainedTrace(maker.trace()).back.packets) {
    if (packet.has_counter_set()) set = packet.counter_set();
    if (packet.has_counter_samples()) counters = packet.counter_samples();
    if (packet.has_stack_samples()) stacks = packet.stack_samples();
    paths += packet.has_call_path();
    notes += packet.has_note() && packet.note().process() == 1;
  }
  ASSERT_EQ(set.names_size(), 2);
  EXPECT_EQ(set.names(0), "PAPI_TOT_INS");
  EXPECT_EQ(set.errors(0), "");
  EXPECT_EQ(set.errors(1), "not available here");
  ASSERT_EQ(counters.values_size(), 2);
  EXPECT_EQ(counters.values(1), 250);
  EXPECT_TRUE(counters.is_last());
  ASSERT_EQ(stacks.site_size(), 3);
  EXPECT_EQ(stacks.site(0), stacks.site(1));
  EXPECT_NE(stacks.site(0), stacks.site(2));
  EXPECT_EQ(paths, 2);
  EXPECT_EQ(notes, 1);
}

TEST(DrainWorker, RecordsHowAProcessEnded) {
  SpoolMaker maker;
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  auto pid = static_cast<uint32_t>(child);
  maker.add_process(pid, 0, 0, 1, 1);
  RingMaker *ring = maker.add_ring(pid, 0, 0);
  ring->define(thread_record(1, pid, true));
  ring->define(communicator_record(1, kWorld, 0, {0}));
  for (uint64_t i = 0; i < 10; i++) ring->push(send_event(100 + i * 20, 0, 1));
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  ASSERT_TRUE(worker.round());
  kill(child, SIGKILL);
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  maker.write_file(kTasksName, "task=5 pid=" + std::to_string(pid) + " status=" + std::to_string(status) + "\ntask=6 pid=1 st");
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "");
  DrainedTrace trace(maker.trace());
  v1::Process process = trace.process(1);
  EXPECT_TRUE(process.has_end_ticks());
  EXPECT_FALSE(process.exited());
  EXPECT_FALSE(process.has_finalize_end_ticks());
  EXPECT_EQ(process.wait_status(), SIGKILL);
  EXPECT_EQ(process.end_source(), "slurm");
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 10u) << "everything up to then is there";
  int tasks = 0;
  for (const v1::Packet &packet : trace.back.packets) tasks += packet.has_task();
  EXPECT_EQ(tasks, 1) << "a line that is cut is not read";
}

TEST(ProcessWatch, TellsHowStrangersEnded) {
  for (bool is_reaped : {false, true}) {
    pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    auto pid = static_cast<uint32_t>(child);
    ProcessWatch watch(pid, process_start_time(pid), 0, 0);
    EXPECT_TRUE(watch.is_alive());
    std::string source;
    EXPECT_FALSE(watch.wait_status(&source));
    kill(child, SIGKILL);
    pollfd wait{watch.descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, 10000), 1);
    if (is_reaped) waitpid(child, nullptr, 0);
    EXPECT_FALSE(watch.is_alive());
    std::optional<int32_t> status = watch.wait_status(&source);
    if (!is_reaped || status) {  // a kernel before 6.15 has forgotten a reaped process
      EXPECT_EQ(status, SIGKILL);
      EXPECT_EQ(source, is_reaped ? "pidfd" : "proc");
    }
    waitpid(child, nullptr, 0);
  }
  auto own = static_cast<uint32_t>(getpid());
  EXPECT_FALSE(ProcessWatch(own, process_start_time(own) + 1, 0, 0).is_alive()) << "a number that was used again";
  EXPECT_TRUE(ProcessWatch(own, 1, 1, 0).is_alive()) << "another namespace: cannot be told";
  EXPECT_TRUE(ProcessWatch(own, 1, 0, 1).is_alive()) << "another time namespace: other start times";
}

// (G18) What a rank had summed up of its polls when it was killed is in the trace, once.
TEST(DrainWorker, TakesThePollsOfADeadProcess) {
  for (const char *mode : {"trace", "summary"}) {
    SpoolMaker maker(mode);
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
      char byte;
      close(gate[1]);
      _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    auto pid = static_cast<uint32_t>(child);
    maker.add_process(pid, 0, 0, 1, 1);
    RingMaker *ring = maker.add_ring(pid, 0, 0, 2);
    ring->define(thread_record(1, pid, true));
    ring->define(communicator_record(1, kWorld, 0, {0}));
    ring->push(send_event(1000, 0, 8));
    Event test = call_event("MPI_Test", 0), probe = call_event("MPI_Iprobe", 0);
    ring->file()->polls[0] = {1100, 9000, 500, 4000, 0, 0, kPeerNone, 0, test.call};
    ring->file()->polls[2] = {1200, 8000, 70, 700, kWorld, 0, 0, 3, probe.call};
    Spool spool(maker.path());
    DrainWorker worker(&spool, {});
    worker.round();
    EXPECT_EQ(ring->file()->polls[0].count, 500u) << "taken from a process that lives";
    ASSERT_TRUE(ring->push(send_event(1050, 0, 8)));  // leaves room for one of the two rows, at first
    close(gate[0]);
    close(gate[1]);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    maker.write_file(kEndName, "");
    while (worker.round()) {
    }
    DrainedTrace trace(maker.trace());
    Summary summary = trace.stored_summary(1);
    std::map<uint32_t, uint64_t> counts, ticks;
    for (const auto &[key, stats] : summary.calls) counts[key.call] += stats.count, ticks[key.call] += stats.ticks;
    EXPECT_EQ(counts[test.call], 500u);
    EXPECT_EQ(ticks[test.call], 4000u);
    EXPECT_EQ(counts[probe.call], 70u);
    if (std::string(mode) == "summary") continue;
    const auto &rows = trace.back.rows[{1, 1}];
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[2].call, probe.call) << "in the order of their ends";
    EXPECT_EQ(rows[2].kind, RowKind::kPolls);
    EXPECT_EQ(rows[2].tag, 3);
    EXPECT_EQ(rows[3].request, 500u);
    EXPECT_TRUE(summary == trace.recomputed_summary(1));
  }
}

// A worker that is killed at any moment, again and again, while events come.
TEST(DrainWorker, KilledWorkersLoseAndRepeatNothing) {
  for (const char *mode : {"trace", "summary"}) {
    SpoolMaker maker(mode);
    Rank rank = add_rank(&maker, 0, 0, 256);
    constexpr uint64_t kEvents = 60000;
    Random random(99);
    uint64_t sent = 0;
    int kills = 0;
    // Every request is posted and completed some events later, so that lives of workers lie between.
    auto push_next = [&] {
      Event event = send_event(1000 + sent * 20, 1, sent + 1);
      if (sent % 10 == 5) {  // what an access is depends on the one before it, maybe in another worker's life
        event = call_event("pwrite", 1000 + sent * 20);
        event.object = 1;
        event.bytes = 8;
        event.offset = static_cast<int64_t>(sent / 10 % 7 == 3 ? sent * 64 : sent / 10 * 8);
      } else if (sent % 10 == 2) {
        event = call_event("MPI_Irecv", 1000 + sent * 20);
        event.object = kWorld;
        event.peer = 1;
        event.request = kRequest + (sent / 10 % 64);
      } else if (sent % 10 == 1 && sent > 640) {
        event = call_event("MPI_Wait", 1000 + sent * 20);
        event.kind = EventKind::kComplete;
        event.flags = kEventMessage;
        event.request = kRequest + (sent / 10 % 64);
        event.peer = 1;
        event.bytes = 1;
      }
      return rank.ring->push(event);
    };
    while (sent < kEvents) {
      pid_t child = fork();
      if (child == 0) {
        Spool spool(maker.path());
        DrainWorker worker(&spool, {});
        worker.run();
        _exit(0);
      }
      uint64_t target = sent + 200 + random.below(8000);
      while (sent < kEvents && sent < target) {
        if (push_next()) {
          sent++;
        } else {
          maker.wake_drainer();
        }
      }
      struct timespec moment{0, static_cast<long>(random.below(2000000))};
      nanosleep(&moment, nullptr);
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      kills++;
    }
    EXPECT_GT(kills, 5);
    EXPECT_EQ(run_to_end(maker), "");
    DrainedTrace trace(maker.trace());
    EXPECT_FALSE(trace.back.damage.damaged) << trace.back.damage.reason;
    Summary summary = trace.stored_summary(1);
    uint64_t posts = (kEvents + 7) / 10, completions = kEvents / 10 - 64, writes = kEvents / 10;
    EXPECT_EQ(summary.peers[1].sent_count, kEvents - posts - completions - writes);
    EXPECT_EQ(summary.files[1].writes, writes);
    EXPECT_EQ(summary.files[1].sequential + summary.files[1].strided + summary.files[1].random, writes - 1);
    EXPECT_EQ(summary.peers[1].received_count, completions);
    if (std::string(mode) == "summary") continue;
    const auto &rows = trace.back.rows[{1, 1}];
    ASSERT_EQ(rows.size(), kEvents);
    std::map<uint64_t, uint64_t> started;
    for (uint64_t i = 0; i < rows.size(); i++) {
      if (rows[i].kind == RowKind::kCall) {
        ASSERT_EQ(rows[i].start, 1000 + i * 20) << "after " << kills << " kills";
        if (rows[i].request != 0) started[rows[i].request] = rows[i].start;
      } else {
        ASSERT_EQ(rows[i].end, 1000 + i * 20 + 10);
        ASSERT_TRUE(started.contains(rows[i].request)) << i;
        ASSERT_EQ(started[rows[i].request], rows[i].start);
      }
    }
    EXPECT_TRUE(summary == trace.recomputed_summary(1));
  }
}

TEST(DrainWorker, UnwritableOutputKeepsTheApplicationGoing) {  // (L3, L6)
  SpoolMaker maker;
  // A file where the directory should be: also root cannot write there.
  fclose(fopen(maker.output().c_str(), "w"));
  Rank rank = add_rank(&maker, 0, 0, 64);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  testing::internal::CaptureStderr();
  uint64_t sent = 0;
  for (int rounds = 0; sent < 1000 && rounds < 1000; rounds++) {
    while (sent < 1000 && rank.ring->push(send_event(100 + sent * 20, 1, 1))) sent++;
    worker.round();
  }
  EXPECT_EQ(sent, 1000u);
  maker.write_file(kEndName, "");
  std::string loss = worker.run();
  EXPECT_NE(loss.find(maker.output()), std::string::npos) << loss;
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(DrainWorker, AFullDiskThatBecomesFreeKeepsTheSummary) {  // (L4)
  SpoolMaker maker;
  fclose(fopen(maker.output().c_str(), "w"));
  Rank rank = add_rank(&maker, 0, 0, 64);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  testing::internal::CaptureStderr();
  uint64_t sent = 0;
  while (sent < 500) {
    while (sent < 500 && rank.ring->push(send_event(100 + sent * 20, 1, 1))) sent++;
    worker.round();
  }
  unlink(maker.output().c_str());
  maker.write_file(kEndName, "");
  std::string loss = worker.run();
  EXPECT_NE(loss.find(maker.output()), std::string::npos) << "an error that is over has lost something nevertheless: " << loss;
  EXPECT_NE(loss.find("the summary has them"), std::string::npos) << loss;
  testing::internal::GetCapturedStderr();
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.stored_summary(1).peers[1].sent_count, 500u);
  EXPECT_EQ((trace.lost(1, "write error") + trace.back.rows[{1, 1}].size()), 500u);
  EXPECT_GT(trace.lost(1, "write error"), 0u);
}

TEST(DrainWorker, FileSizeLimitCutsTheTraceNotTheProcess) {  // (L5)
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0, 4096);
  rank.process->local_size = 1;  // else the first rows wait for the other rank
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    Spool spool(maker.path());
    DrainWorker worker(&spool, {});
    for (uint64_t i = 0; i < 100; i++) rank.ring->push(send_event(100 + i * 20, 1, 1));
    worker.wait(1100);
    worker.round();
    struct stat status;
    if (stat(maker.trace().c_str(), &status) != 0) _exit(7);
    rlimit limit{static_cast<rlim_t>(status.st_size) + 100, static_cast<rlim_t>(status.st_size) + 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    Random random(1);
    for (uint64_t i = 0; i < 4000; i++) rank.ring->push(send_event(10000 + i * 20, 1, random.next()));
    worker.round();
    _exit(0);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  DrainedTrace trace(maker.trace());
  EXPECT_FALSE(trace.back.damage.damaged) << "what was written before is whole";
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 100u);
}

TEST(DrainWorker, TraceLimitEndsRowsNotTheSummary) {
  SpoolMaker maker("trace,max_trace_mib=1");
  Rank rank = add_rank(&maker, 0, 0, 1 << 16);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  Random random(4);
  uint64_t sent = 0;
  while (sent < 400000) {
    while (sent < 400000 && rank.ring->push(send_event(100 + sent * 20, 1, random.next() >> 20))) sent++;
    worker.round();
  }
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.stored_summary(1).peers[1].sent_count, 400000u);
  EXPECT_LT((trace.back.rows[{1, 1}].size()), 400000u);
  EXPECT_EQ((trace.lost(1, "trace limit") + trace.back.rows[{1, 1}].size()), 400000u);
}

TEST(DrainWorker, TheJobsLimitIsSharedByItsNodes) {
  SpoolMaker maker("trace,max_job_mib=4");
  maker.write_file("step.info", "host=bm1\njob_nodes=4\n");
  mkdir(maker.output().c_str(), 0700);
  for (const char *name : {"step0.bm1.sst", "step0.bm2.sst"}) {
    std::string earlier = maker.output() + "/" + name;
    close(open(earlier.c_str(), O_WRONLY | O_CREAT, 0600));
    ASSERT_EQ(truncate(earlier.c_str(), 900 << 10), 0);
  }
  Rank rank = add_rank(&maker, 0, 0, 1 << 16);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  Random random(4);
  uint64_t sent = 0;
  while (sent < 200000) {
    while (sent < 200000 && rank.ring->push(send_event(100 + sent * 20, 1, random.next() >> 20))) sent++;
    worker.round();
  }
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.stored_summary(1).peers[1].sent_count, 200000u);
  EXPECT_EQ((trace.lost(1, "trace limit") + trace.back.rows[{1, 1}].size()), 200000u);
  EXPECT_LT((trace.back.rows[{1, 1}].size()), 100000u) << "124 KiB are left of this node's MiB, and a batch is whole";
  std::string detail;
  for (const v1::Packet &packet : trace.back.packets)
    if (packet.has_loss() && packet.loss().reason() == "trace limit") detail = packet.loss().detail();
  EXPECT_EQ(detail, "max_job_mib=4 shared by 4 nodes, of which earlier steps have used 900 KiB here");
}

TEST(DrainWorker, TracesOfOtherJobsLimitNoSalvage) {
  SpoolMaker maker("trace,max_job_mib=1");
  maker.write_file("step.info", "host=bm1\n");
  mkdir(maker.output().c_str(), 0700);
  std::string other = maker.output() + "/step0.bm1.sst";
  close(open(other.c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(truncate(other.c_str(), 2 << 20), 0);
  add_rank(&maker, 0, 0).ring->push(send_event(100, 1, 1));
  maker.write_file(kEndName, "");
  Spool spool(maker.path());
  DrainWorker worker(&spool, {.starter_pid = 0, .ends_now = true, .gives_up = true, .probe_root = "", .output = maker.output()});
  EXPECT_EQ(worker.run(), "");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 1u);
  EXPECT_EQ(trace.lost(1, "trace limit"), 0u);
}

// The directory is deleted while the step runs: the rank never waits for long, and the end says what happened. (L6, L17)
TEST(DrainWorker, ADeletedTraceIsSaid) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0, 64);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  testing::internal::CaptureStderr();
  uint64_t sent = 0;
  auto send = [&](uint64_t count) {
    for (uint64_t until = sent + count; sent < until; worker.round())
      while (sent < until && rank.ring->push(send_event(100 + sent * 20, 1, 1))) sent++;
  };
  send(500);
  ASSERT_EQ(unlink(maker.trace().c_str()), 0);
  ASSERT_EQ(rmdir(maker.output().c_str()), 0);
  send(500);
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "the trace " + maker.trace() + " was deleted while the step ran");
  testing::internal::GetCapturedStderr();
  EXPECT_NE(access(maker.output().c_str(), F_OK), 0) << "who deletes it does not want it back";
}

TEST(DrainWorker, ProcessesThatCouldNotBeRecordedAreCounted) {  // (L17)
  SpoolMaker maker;
  add_rank(&maker, 0, 0).ring->push(send_event(100, 1, 1));
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  DrainState state;
  int file = open((maker.path() + "/" + kDrainFileName).c_str(), O_RDWR);
  ASSERT_EQ(pread(file, static_cast<void *>(&state), sizeof state, 0), static_cast<ssize_t>(sizeof state));
  state.refused = 3;
  state.refusal = ENOSPC;
  ASSERT_EQ(pwrite(file, &state, sizeof state, 0), static_cast<ssize_t>(sizeof state));
  close(file);
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "3 processes could not be recorded in " + maker.path() + ": No space left on device");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.lost(0, "process not recorded"), 3u);
  bool says_why = false;
  for (const v1::Packet &packet : trace.back.packets) says_why |= packet.has_loss() && packet.loss().detail() == "No space left on device";
  EXPECT_TRUE(says_why);
}

TEST(DrainWorker, ASuccessorTouchesNoOtherFile) {  // (L1)
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0);
  Spool spool(maker.path());
  {
    DrainWorker worker(&spool, {});
    rank.ring->push(send_event(100, 1, 1));
    worker.wait(1100);
    worker.round();
  }
  // Whoever owns the directory puts something dear in the trace's place.
  std::string dear = maker.output() + "/dear";
  close(open(dear.c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(truncate(dear.c_str(), 100000), 0);
  unlink(maker.trace().c_str());
  ASSERT_EQ(link(dear.c_str(), maker.trace().c_str()), 0);
  rank.ring->push(send_event(200, 1, 1));
  run_to_end(maker);
  struct stat status;
  ASSERT_EQ(stat(dear.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 100000);
}

TEST(DrainWorker, FilesAreTheUsersAloneWhateverTheUmask) {  // (L2)
  for (mode_t mask : {0U, 0777U}) {
    for (const char *settings : {"trace", "trace,group=0", "trace,group=no-such-group"}) {
      mode_t before = umask(mask);
      SpoolMaker maker(settings);
      add_rank(&maker, 0, 0).ring->push(send_event(100, 1, 1));
      EXPECT_EQ(run_to_end(maker), "");
      umask(before);
      struct stat directory, file;
      ASSERT_EQ(stat(maker.output().c_str(), &directory), 0);
      ASSERT_EQ(stat(maker.trace().c_str(), &file), 0);
      bool is_shared = settings == std::string("trace,group=0") && (getgid() == 0 || getuid() == 0);
      EXPECT_EQ(directory.st_mode & 07777U, is_shared ? 0750U : 0700U) << settings;
      EXPECT_EQ(file.st_mode & 07777U, is_shared ? 0640U : 0600U) << settings;
      bool says_why = false;
      for (const v1::Packet &packet : DrainedTrace(maker.trace()).back.packets)
        says_why |= packet.has_note() && packet.note().text().find("no group no-such-group") != std::string::npos;
      EXPECT_EQ(says_why, settings == std::string("trace,group=no-such-group"));
    }
  }
}

TEST(DrainWorker, AStrangersLinkIsNoWay) {  // (L1)
  if (getuid() != 0) GTEST_SKIP() << "needs root, to have a link of somebody else";
  SpoolMaker maker;
  std::string target = maker.output() + "-elsewhere";
  mkdir(target.c_str(), 0700);
  ASSERT_EQ(symlink(target.c_str(), maker.output().c_str()), 0);
  ASSERT_EQ(lchown(maker.output().c_str(), 65534, 65534), 0);
  add_rank(&maker, 0, 0).ring->push(send_event(100, 1, 1));
  testing::internal::CaptureStderr();
  EXPECT_NE(run_to_end(maker).find("is a link that another user has made"), std::string::npos);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(rmdir(target.c_str()), 0) << "something was made there";
  // One's own, or root's, is a way like others.
  ASSERT_EQ(lchown(maker.output().c_str(), 0, 0), 0);
  mkdir(target.c_str(), 0700);
  EXPECT_EQ(run_to_end(maker), "");
  EXPECT_EQ(access((target + "/t.sst").c_str(), F_OK), 0);
}

TEST(DrainWorker, NameIsNeverTakenTwice) {  // (K19, L8)
  for (int round = 0; round < 2; round++) {
    SpoolMaker maker;
    mkdir(maker.output().c_str(), 0755);
    symlink("/nonexistent/target", maker.trace().c_str());
    Rank rank = add_rank(&maker, 0, 0);
    rank.ring->push(send_event(100, 1, 1));
    EXPECT_EQ(run_to_end(maker), "");
    DrainedTrace trace(maker.output() + "/t.2.sst");
    EXPECT_EQ((trace.back.rows[{1, 1}].size()), 1u);
  }
}

TEST(DrainWorker, LossesOfTheProducersAreInTheTrace) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0);
  rank.ring->push(send_event(100, 1, 1));
  rank.ring->file()->lost[static_cast<size_t>(LossReason::kRingFull)] = 7;
  rank.ring->file()->stalls = 2;
  rank.process->lost[static_cast<size_t>(LossReason::kNoRing)] = 5;
  EXPECT_EQ(run_to_end(maker), "");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.lost(1, "ring full"), 7u);
  EXPECT_EQ(trace.lost(1, "no ring"), 5u);
  EXPECT_EQ(trace.lost(1, "stall"), 2u);
}

TEST(DrainWorker, AMessageMatchedInOneLifeIsReceivedInTheNext) {  // (G20)
  SpoolMaker maker("trace");
  Rank rank = add_rank(&maker, 0, 0, 256);
  for (int life = 0; life < 2; life++) {
    Spool spool(maker.path());
    DrainWorker worker(&spool, {});
    Event event = call_event(life == 0 ? "MPI_Mprobe" : "MPI_Mrecv", life == 0 ? 1000 : 2000);
    event.peer = 1;
    if (life == 0) {
      event.object = kWorld;
      event.request = 0x4711;
    } else {
      event.object = 0x4711;
      event.flags = kEventMessage;
      event.bytes = 40;
      maker.write_file(kEndName, "");
    }
    ASSERT_TRUE(rank.ring->push(event));
    if (life == 0) worker.round();
    else EXPECT_EQ(worker.run(), "");
  }
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.lost(1, "unnamed peer"), 0u);
  EXPECT_EQ(trace.stored_summary(1).peers[1].received_bytes, 40u);
}

TEST(DrainWorker, WhatAPredecessorLostStaysCounted) {
  SpoolMaker maker("trace,max_trace_mib=1");
  Rank rank = add_rank(&maker, 0, 0, 1 << 16);
  Random random(5);
  uint64_t sent = 0, lost_before = 0;
  for (uint64_t target : {300000u, 310000u}) {  // the limit is passed in the first life
    Spool spool(maker.path());
    DrainWorker worker(&spool, {});
    while (sent < target) {
      while (sent < target && rank.ring->push(send_event(100 + sent * 20, 1, random.next() >> 20))) sent++;
      worker.round();
    }
    if (target == 310000u) {
      maker.write_file(kEndName, "");
      EXPECT_EQ(worker.run(), "");
    }
  }
  DrainedTrace trace(maker.trace());
  EXPECT_EQ(trace.stored_summary(1).peers[1].sent_count, 310000u);
  lost_before = trace.lost(1, "trace limit");
  EXPECT_EQ((lost_before + trace.back.rows[{1, 1}].size()), 310000u);
}

TEST(DrainWorker, AHeadThatMakesNoSenseIsGivenUpAndTheRingGoesOn) {
  SpoolMaker maker;
  Rank rank = add_rank(&maker, 0, 0, 64);
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  rank.ring->push(send_event(100, 1, 1));
  auto &head = rank.ring->file()->events.head;
  uint64_t good = head.load();
  head.store(good + 1000000);
  ASSERT_TRUE(worker.round());
  head.store(good);
  maker.write_file(kEndName, "");
  EXPECT_EQ(worker.run(), "");
  DrainedTrace trace(maker.trace());
  EXPECT_FALSE(trace.back.damage.damaged);
}

TEST(DrainWorker, NoRankStarvesBehindBusyOnes) {
  SpoolMaker maker("summary");
  std::vector<Rank> ranks;
  constexpr int kRanks = 12;  // more full rings than a batch takes
  for (int i = 0; i < kRanks; i++) ranks.push_back(add_rank(&maker, i, i, 1 << 16));
  Spool spool(maker.path());
  DrainWorker worker(&spool, {});
  std::vector<uint64_t> sent(kRanks, 0);
  uint64_t time = 100;
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < kRanks; i++)
      while (ranks[static_cast<size_t>(i)].ring->push(send_event(time += 20, 1, 1))) sent[static_cast<size_t>(i)]++;
    worker.round();
  }
  // With everybody always full, nobody is far behind: a batch serves 8 of the 12, in turn.
  EXPECT_GT(*std::min_element(sent.begin(), sent.end()), uint64_t{1} << 16);
}

TEST(DrainWorker, HostileFilesAreRefused) {
  SpoolMaker maker;
  auto pid = static_cast<uint32_t>(getpid());
  Rank rank = add_rank(&maker, 0, 0);
  rank.ring->push(send_event(100, 1, 1));
  RingFile *files[6];
  for (uint32_t i = 0; i < 6; i++) files[i] = maker.add_ring(pid, 0, 10 + i)->file();
  files[0]->event_count = uint64_t{1} << 60;
  files[1]->event_offset = UINT64_MAX - 64;
  files[2]->definition_bytes = 24;
  files[3]->events.head = 1000000;      // more than the ring holds
  files[4]->definitions.head = 1 << 30;
  files[5]->version = 99;
  maker.write_file("ring-abc", "x");
  maker.write_file("ring-1-2-3", "short");
  maker.write_file("proc-99999-0", std::string(sizeof(ProcessFile), '\1'));
  symlink("/etc/passwd", (maker.path() + "/ring-" + std::to_string(pid) + "-0-77").c_str());
  // A definition whose size is a lie ends that ring's definitions, nothing else.
  std::vector<uint8_t> record = note_record(1, "fine");
  reinterpret_cast<DefinitionHeader *>(record.data())->size = 0x7ffffff8;
  record.resize(64);
  RingMaker *liar = maker.add_ring(pid, 0, 30);
  liar->define(record);
  EXPECT_EQ(run_to_end(maker), "");
  DrainedTrace trace(maker.trace());
  EXPECT_EQ((trace.back.rows[{1, 1}].size()), 1u);
  int complaints = 0;
  for (const v1::Packet &packet : trace.back.packets) complaints += packet.has_note() && packet.note().process() == 0;
  EXPECT_GE(complaints, 5);
}

TEST(Spool, ForeignOrOpenDirectoriesAreRefused) {
  TemporaryDirectory directory;
  EXPECT_NO_THROW(Spool{directory.path()});
  chmod(directory.path().c_str(), 0755);
  EXPECT_THROW(Spool{directory.path()}, Error);
  chmod(directory.path().c_str(), 0700);
  std::string link = directory.path() + "/link";
  symlink("/tmp", link.c_str());
  EXPECT_THROW(Spool{link}, Error);
  EXPECT_THROW(Spool{"/nonexistent"}, Error);
  if (geteuid() == 0) {
    chown(directory.path().c_str(), 65534, 65534);
    EXPECT_THROW(Spool{directory.path()}, Error);
  }
}

}  // namespace
}  // namespace slurmscope::test
