// Traces of two nodes into one time line; what contradicts it is said (H2, H3, H4).
#include "tools/model/read_events.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/run_maker.h"
#include "tools/export/exporters.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using namespace test;

constexpr uint64_t kMs = 1000000, kUs = 1000;
constexpr int64_t kFarAhead = 5000000000000;  // 5000 s

std::unique_ptr<RunModel> load(const std::vector<std::string> &files, bool wants_all = true) {
  auto run = std::make_unique<RunModel>();
  run->path = "run";
  for (size_t i = 0; i < files.size(); ++i) run->set.add_bytes("step0.n" + std::to_string(i) + ".sst", files[i]);
  run->set.finish();
  run->worlds = build_worlds(run->set);
  read_events(run.get(), wants_all, files);
  return run;
}

RunMaker::Options node(int number, int64_t shift = 0) {
  RunMaker::Options options;
  options.host = "n" + std::to_string(number + 1);
  options.stream_id = static_cast<uint64_t>(number) + 1;
  options.clock_shift_ns = shift;
  options.offset_is_known = false;
  return options;
}

/// Rank `rank` of two, one per node: `rounds` ping-pongs of 20 us each way, from 10 ms on.
std::string ping_pong(const RunMaker::Options &options, int rank, int rounds = 50, bool back = true, int64_t shift_ticks = 0) {
  RunMaker maker(options);
  uint32_t id = maker.add_rank(rank, 2);
  auto at = [&](uint64_t time) { return time + static_cast<uint64_t>(shift_ticks); };
  maker.life(id, at(kMs), at(1000 * kMs), kMs);
  for (int i = 0; i < rounds; ++i) {
    uint64_t time = 10 * kMs + static_cast<uint64_t>(i) * 19 * kMs;
    // 0 sends at `time`, 1 has it 20 us later, answers 10 us later, 0 has it 20 us later.
    if (rank == 0) {
      maker.call(id, kSend, at(time), at(time + 5 * kUs), 8, 1);
      if (back) maker.call(id, kRecv, at(time + 5 * kUs), at(time + 50 * kUs), 8, 1);
    } else {
      maker.call(id, kRecv, at(time - 5 * kUs), at(time + 20 * kUs), 8, 0);
      if (back) maker.call(id, kSend, at(time + 30 * kUs), at(time + 35 * kUs), 8, 0);
    }
  }
  return maker.bytes();
}

TEST(ReadEvents, MessagesPutNodesOnOneTimeLine) {
  auto run = load({ping_pong(node(0), 0), ping_pong(node(1, kFarAhead), 1)});
  const World &world = run->chosen();
  ASSERT_EQ(world.clocks.size(), 2u);
  EXPECT_EQ(world.clocks[0].method, ClockModel::Method::kReference);
  const ClockModel &clock = world.clocks[1];
  EXPECT_EQ(clock.method, ClockModel::Method::kMessages);
  EXPECT_EQ(clock.via, "n1");
  EXPECT_EQ(clock.pairs, 100u);
  EXPECT_NEAR(clock.start_offset_ns, -static_cast<double>(kFarAhead), clock.start_error_ns);
  EXPECT_NEAR(clock.end_offset_ns, -static_cast<double>(kFarAhead), clock.end_error_ns);
  EXPECT_TRUE(clock.steps.empty());
  // The error is half a round trip while messages flow.
  auto [offset, error] = clock.stream->solved.at(clock.stream->clock.steady_ns(500 * kMs));
  EXPECT_NEAR(error, 20000, 2000);
  EXPECT_NEAR(offset, -static_cast<double>(kFarAhead), error);
  EXPECT_NEAR(world.wall_s, 0.999, 1e-4);
  ASSERT_EQ(world.clock_pairs.size(), 1u);
  EXPECT_GE(*world.clock_pairs[0].least_a_to_b_ns, -world.clock_pairs[0].error_ns);
  EXPECT_GE(*world.clock_pairs[0].least_b_to_a_ns, -world.clock_pairs[0].error_ns);
  EXPECT_EQ(world.clock_pairs[0].excess_ns, 0);
  EXPECT_EQ(world.messages->matched, 100u);
  for (const NoteModel &note : world.notes) EXPECT_EQ(note.text.find("do not overlap"), std::string::npos) << note.text;
}

TEST(ReadEvents, CompareReadsEventsOnlyForSeveralClocks) {
  auto both = load({ping_pong(node(0), 0), ping_pong(node(1, kFarAhead), 1)}, false);
  EXPECT_EQ(both->chosen().clocks[1].method, ClockModel::Method::kMessages);
  auto one = load({make_exchange({}, false).bytes()}, false);
  EXPECT_FALSE(one->chosen().messages);
}

TEST(ReadEvents, OneWayAndSummaryFallBackToTheWallClock) {
  auto one_way = load({ping_pong(node(0), 0, 50, false), ping_pong(node(1), 1, 50, false)});
  const ClockModel &clock = one_way->chosen().clocks[1];
  EXPECT_EQ(clock.method, ClockModel::Method::kWallClock);
  EXPECT_TRUE(clock.is_one_way);
  EXPECT_TRUE(std::isinf(clock.start_error_ns));
  nlohmann::ordered_json json = report_json(*one_way);
  EXPECT_EQ(json["clocks"][1]["method"], "wall clock");
  EXPECT_TRUE(json["clocks"][1]["start_error_us"].is_null());

  RunMaker::Options zero = node(0), one = node(1);
  zero.trace = one.trace = false;
  auto summary = load({ping_pong(zero, 0), ping_pong(one, 1)});
  EXPECT_EQ(summary->chosen().clocks[1].method, ClockModel::Method::kWallClock);
  EXPECT_FALSE(summary->chosen().messages);
}

TEST(ReadEvents, AMeasuredOffsetIsKept) {
  RunMaker::Options far = node(1, kFarAhead);
  far.offset_is_known = true;
  auto run = load({ping_pong(node(0), 0), ping_pong(far, 1)});
  const ClockModel &clock = run->chosen().clocks[1];
  EXPECT_EQ(clock.method, ClockModel::Method::kMeasured);
  EXPECT_EQ(clock.start_error_ns, 100);
  EXPECT_NEAR(*run->chosen().clock_pairs[0].least_a_to_b_ns, 20000, 1);
}

TEST(ReadEvents, AWrongMeasuredOffsetIsSaid) {
  RunMaker::Options far = node(1, 1000000);
  far.offset_is_known = false;
  RunMaker maker(far);
  v1::Packet packet;
  packet.mutable_clock_offset()->set_ticks(1);
  packet.mutable_clock_offset()->set_offset_ns(-2000000);  // 1 ms too much: messages arrive before they were sent
  packet.mutable_clock_offset()->set_error_ns(100);
  maker.add(packet);
  uint32_t id = maker.add_rank(1, 2);
  maker.life(id, kMs, 1000 * kMs, kMs);
  for (uint64_t i = 0; i < 50; ++i) maker.call(id, kRecv, 10 * kMs + i * 19 * kMs - 5 * kUs, 10 * kMs + i * 19 * kMs + 20 * kUs, 8, 0);
  auto run = load({ping_pong(node(0), 0), maker.bytes()});
  const World &world = run->chosen();
  ASSERT_EQ(world.clock_pairs.size(), 1u);
  EXPECT_NEAR(world.clock_pairs[0].excess_ns, 1000000 - 20000 - 100 - ClockPairBounds::kToleranceNs, 10);
  std::string page = page_text(make_report(*run, {}));
  EXPECT_NE(page.find("us before it was sent, beyond the clocks' error"), std::string::npos) << page;
}

TEST(ReadEvents, HolesInTheTraceForbidMatching) {
  RunMaker::Options far = node(1, kFarAhead);
  RunMaker maker(far);
  uint32_t id = maker.add_rank(1, 2);
  maker.life(id, kMs, 1000 * kMs, kMs);
  maker.call(id, kRecv, 5 * kMs, 6 * kMs, 8, 0);
  maker.call(id, kSend, 7 * kMs, 8 * kMs, 8, 0);
  maker.loss(id, "ring full", 12);
  auto run = load({ping_pong(node(0), 0), maker.bytes()});
  EXPECT_EQ(run->chosen().clocks[1].method, ClockModel::Method::kWallClock);
  bool is_said = false;
  for (const NoteModel &note : run->chosen().notes) is_said |= note.text.find("matched with the wrong partner") != std::string::npos;
  EXPECT_TRUE(is_said);
}

TEST(ReadEvents, WithinANodeAMessageThatArrivesTooEarlyIsSaid) {
  for (bool broken : {false, true}) {
    RunMaker maker({});
    for (int rank = 0; rank < 2; ++rank) {
      uint32_t id = maker.add_rank(rank, 2);
      maker.life(id, kMs, 100 * kMs, kMs);
      if (rank == 0) maker.call(id, kSend, 50 * kMs, 51 * kMs, 8, 1);
      else maker.call(id, kRecv, 40 * kMs, broken ? 45 * kMs : 51 * kMs, 8, 0);
    }
    auto run = load({maker.bytes()});
    ASSERT_EQ(run->chosen().clock_pairs.size(), 1u);
    EXPECT_NEAR(run->chosen().clock_pairs[0].excess_ns, broken ? 5e6 - ClockPairBounds::kToleranceNs : 0, 1);
    std::string page = page_text(make_report(*run, {}));
    EXPECT_EQ(page.find("its processors' clocks differ") != std::string::npos, broken) << page;
  }
}

// (H3) The anchors at both ends are 30 s apart: durations are right, and the report says what happened.
TEST(ReadEvents, AWallClockStepIsAWarning) {
  RunMaker::Options options;
  options.realtime_step_ns = 30000000000;
  RunMaker maker(options);
  maker.life(maker.add_rank(0, 1), kMs, 2500 * kMs, kMs);
  auto run = load({maker.bytes()});
  EXPECT_NEAR(run->chosen().wall_s, 2.499, 1e-9);
  std::string page = page_text(make_report(*run, {}));
  EXPECT_NE(page.find("the node's clock was set by 30.000 s during the run"), std::string::npos) << page;
}

// (H4) Rank 0 is stopped for 2 s between two calls: its gap is listed, and rank 1's long receive is put down to it.
TEST(ReadEvents, AStoppedRankIsNotItsPeersMpiTime) {
  RunMaker maker({});
  for (int rank = 0; rank < 2; ++rank) {
    uint32_t id = maker.add_rank(rank, 2);
    maker.life(id, kMs, 2900 * kMs, kMs);
    maker.call(id, kBarrier, 10 * kMs, 11 * kMs);
    if (rank == 0) maker.call(id, kSend, 2011 * kMs, 2012 * kMs, 8, 1);
    else maker.call(id, kRecv, 12 * kMs, 2012 * kMs, 8, 0);
    maker.call(id, kBarrier, 2012 * kMs, 2013 * kMs);
  }
  auto run = load({maker.bytes()});
  nlohmann::ordered_json json = report_json(*run);
  nlohmann::ordered_json gaps = json["ranks"][0]["largest_gaps"];
  EXPECT_NEAR(gaps["outside_s"].get<double>(), 2.0, 1e-9);
  EXPECT_NEAR(gaps["outside_at_s"].get<double>(), 0.010, 1e-9);
  EXPECT_EQ(gaps["after"], "MPI_Barrier");
  EXPECT_EQ(gaps["before"], "MPI_Send");
  EXPECT_NEAR(json["ranks"][1]["largest_gaps"]["in_call_s"].get<double>(), 2.0, 1e-9);
  EXPECT_EQ(json["ranks"][1]["largest_gaps"]["call"], "MPI_Recv");
  std::string page = page_text(make_report(*run, {}));
  EXPECT_NE(page.find("rank 1's longest call (2.000 s in MPI_Recv): rank 0 made no call for most of that time"), std::string::npos) << page;
}

}  // namespace
}  // namespace slurmscope
