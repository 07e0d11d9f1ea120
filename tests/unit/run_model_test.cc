// The model of a run, from traces with exactly known contents.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "proto/error.h"
#include "tests/unit/run_maker.h"
#include "tools/model/run.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using namespace test;

std::unique_ptr<RunModel> load(const std::vector<std::string> &files) {
  auto run = std::make_unique<RunModel>();
  run->path = "run";
  for (size_t i = 0; i < files.size(); ++i) run->set.add_bytes("step0.n" + std::to_string(i) + ".sst", files[i]);
  run->set.finish();
  run->worlds = build_worlds(run->set);
  return run;
}

double category(const RankModel &rank, Category c) { return rank.categories[static_cast<size_t>(c)]; }

TEST(RunModel, ImbalanceInBothModes) {
  for (bool trace : {true, false}) {
    RunMaker::Options options;
    options.trace = trace;
    auto run = load({make_imbalance(options).bytes()});
    ASSERT_EQ(run->worlds.size(), 1u);
    const World &world = run->chosen();
    ASSERT_EQ(world.ranks.size(), 4u);
    EXPECT_TRUE(world.complete());
    EXPECT_NEAR(world.wall_s, 1.205, 1e-12);
    EXPECT_NEAR(category(world.ranks[0], Category::kCompute), 0.800, 1e-12);
    EXPECT_NEAR(category(world.ranks[0], Category::kCollectives), 0.405, 1e-12);
    EXPECT_NEAR(category(world.ranks[3], Category::kCompute), 1.200, 1e-12);
    EXPECT_NEAR(category(world.ranks[3], Category::kCollectives), 0.005, 1e-12);
    for (const RankModel &rank : world.ranks) {
      double sum = 0;
      for (double value : rank.categories) sum += value;
      EXPECT_NEAR(sum, world.wall_s, 1e-9);
    }
    EXPECT_TRUE(world.losses.empty());
  }
}

TEST(RunModel, EventsAfterTheLastSummaryCountWhileTheTraceHasNoEnd) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(0, 1);
  maker.life(id, 1000000, 101000000, 1000);
  for (uint64_t i = 0; i < 10; i++) maker.call(id, Call::kBarrier, 2000000 + i * 1000000, 2500000 + i * 1000000);
  maker.summary_override[id].set_process(id);  // the drainer was killed before its next one
  char path[] = "/tmp/slurmscope-run-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  std::string bytes = maker.bytes(false);
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(fd);
  RunModel run;
  run.set.add_file(path);
  run.set.complete_from_events();
  run.set.finish();
  run.worlds = build_worlds(run.set);
  unlink(path);
  ASSERT_EQ(run.worlds.size(), 1u);
  const RankModel &rank = run.worlds[0].ranks.at(0);
  auto barrier = std::find_if(rank.calls.begin(), rank.calls.end(), [](const CallTotals &call) { return call.name == "MPI_Barrier"; });
  ASSERT_NE(barrier, rank.calls.end());
  EXPECT_EQ(barrier->count, 10u);
  EXPECT_GT(run.worlds[0].wall_s, 0.01);
}

TEST(RunModel, IoBeforeTheRecordingIsNamed) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(0, 1);
  maker.life(id, 1000000, 101000000, 1000);
  maker.process(id).set_early_io_calls(17);
  maker.process(id).set_early_io_bytes(4096);
  auto run = load({maker.bytes()});
  Table table = file_table(run->chosen(), {});
  ASSERT_FALSE(table.notes.empty());
  EXPECT_EQ(table.notes.back(), "not in the table and not timed: 17 calls that moved 4096 bytes before their process was recorded");
}

TEST(RunModel, AFileThatNamesMillionsOfProcessesIsDamaged) {
  StreamSet set;
  set.begin_file("step0.n1.sst");
  v1::Packet packet;
  packet.mutable_header()->set_stream_id(1);
  set.visit(packet);
  auto name_many = [&] {
    for (uint32_t id = 1; id < 1000000; id++) {
      packet.mutable_process()->set_id(id);
      set.visit(packet);
    }
  };
  EXPECT_THROW(name_many(), Error);
}

TEST(RunModel, ClockOffsetsPutNodesOnOneTimeLine) {
  RunMaker::Options near, far;
  far.host = "n2";
  far.stream_id = 2;
  far.clock_shift_ns = 1000000000000;  // 1000 s
  auto rank_on = [](const RunMaker::Options &options, int rank) {
    RunMaker maker(options);
    uint32_t id = maker.add_rank(rank, 2);
    maker.life(id, 1000000 + static_cast<uint64_t>(rank) * 5000000, 101000000, 1000);
    return maker.bytes();
  };
  auto run = load({rank_on(near, 0), rank_on(far, 1)});
  ASSERT_EQ(run->worlds.size(), 1u);
  const World &world = run->chosen();
  EXPECT_EQ(world.hosts, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_NEAR(world.wall_s, 0.100, 1e-9);
  EXPECT_NEAR(category(world.ranks[1], Category::kSkew), 0.005, 1e-9);
}

TEST(RunModel, WorldMaySpanSteps) {
  RunMaker::Options batch, step;
  batch.step = "batch";
  step.step = "0";
  step.host = "n2";
  step.stream_id = 2;
  RunMaker a(batch), b(step);
  a.life(a.add_rank(0, 2), 1000000, 2000000, 1000);
  b.life(b.add_rank(1, 2), 1000000, 2000000, 1000);
  auto run = load({a.bytes(), b.bytes()});
  ASSERT_EQ(run->worlds.size(), 1u);
  EXPECT_EQ(run->chosen().label, "batch");
  EXPECT_TRUE(run->chosen().complete());
}

TEST(RunModel, SeveralWorldsOfOneStep) {
  RunMaker::Options options;
  options.step = "batch";
  options.world_id = "";  // an MPI that gives none: ranks that occur again are a new world
  RunMaker maker(options);
  for (uint64_t life = 0; life < 2; ++life)
    for (int rank = 0; rank < 2; ++rank) maker.life(maker.add_rank(rank, 2), 1000000 + life * 1000000000, 2000000 + life * 1000000000, 10);
  auto run = load({maker.bytes()});
  ASSERT_EQ(run->worlds.size(), 2u);
  EXPECT_EQ(run->worlds[0].label, "batch");
  EXPECT_EQ(run->worlds[1].label, "batch/2");
  EXPECT_LT(run->worlds[0].start_ns, run->worlds[1].start_ns);
}

TEST(RunModel, KilledRank) {
  auto run = load({make_exchange({}, true).bytes()});
  const World &world = run->chosen();
  ASSERT_EQ(world.ranks.size(), 2u);
  EXPECT_FALSE(ended_badly(world.ranks[0]));
  EXPECT_TRUE(ended_badly(world.ranks[1]));
  EXPECT_EQ(end_text(world.ranks[1]), "signal 9 (Killed), without MPI_Finalize");
}

TEST(RunModel, MissingRankIsALoss) {
  RunMaker maker({});
  maker.life(maker.add_rank(0, 3), 1000000, 2000000, 1000);
  auto run = load({maker.bytes()});
  EXPECT_FALSE(run->chosen().complete());
  EXPECT_EQ(run->chosen().missing_ranks(), (std::vector<int>{1, 2}));
  ASSERT_EQ(run->chosen().losses.size(), 1u);
  EXPECT_EQ(run->chosen().losses[0].detail, "1 of 3 ranks left a trace; missing: 1, 2");
}

TEST(RunModel, ProcessesWithoutMpi) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(-1, 0);
  maker.file(id, 1, "/data/in");
  maker.call(id, kOpen, 1000, 2000).object = 1;
  maker.call(id, kRead, 3000, 8000, 512).object = 1;
  auto run = load({maker.bytes()});
  const World &world = run->chosen();
  EXPECT_FALSE(world.is_mpi);
  ASSERT_EQ(world.ranks.size(), 1u);
  EXPECT_NEAR(world.ranks[0].io_s, 6e-6, 1e-12);
  EXPECT_EQ(world.ranks[0].files.at(0).stats.bytes_read, 512u);
  EXPECT_TRUE(report_json(*run)["matrix"].empty());
}

TEST(RunModel, ThreadsThatOverlapAreShownAsSuch) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(0, 1);
  maker.process(id).set_init_start_ticks(1000000);
  maker.process(id).set_finalize_end_ticks(2000000);
  maker.call(id, kRead, 1000000, 2000000, 1);
  maker.call(id, kWrite, 1000000, 2000000, 1);
  auto run = load({maker.bytes()});
  const RankModel &rank = run->chosen().ranks.at(0);
  EXPECT_DOUBLE_EQ(category(rank, Category::kCompute), 0);
  EXPECT_NEAR(category(rank, Category::kOverlap), -0.001, 1e-12);
}

TEST(RunModel, StallIsToolTimeAndNoLoss) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(0, 1);
  maker.life(id, 1000000, 11000000, 1000);
  maker.loss(id, "stall", 3, 2000000);
  maker.loss(id, "no ring", 7);
  auto run = load({maker.bytes()});
  EXPECT_NEAR(category(run->chosen().ranks[0], Category::kTool), 0.002, 1e-12);
  nlohmann::ordered_json json = report_json(*run);
  ASSERT_EQ(json["losses"].size(), 1u);
  EXPECT_EQ(json["losses"][0]["reason"], "no ring");
  EXPECT_EQ(json["losses"][0]["count"], 7);
  ASSERT_EQ(json["stalls"].size(), 1u);
}

TEST(RunModel, JsonHasThePromisedKeys) {
  nlohmann::ordered_json json = report_json(*load({make_exchange({}, false).bytes()}));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["job"]["id"], "7");
  EXPECT_EQ(json["job"]["step"], "0");
  EXPECT_EQ(json["job"]["partition"], "bm");
  EXPECT_EQ(json["job"]["nodes"], nlohmann::json::array({"n1"}));
  EXPECT_NEAR(json["wall_s"].get<double>(), 0.1, 1e-9);
  ASSERT_EQ(json["ranks"].size(), 2u);
  std::map<std::string, nlohmann::ordered_json> calls;
  for (auto &call : json["ranks"][0]["calls"]) calls[call["name"]] = call;
  EXPECT_EQ(calls["MPI_Send"]["count"], 10);
  EXPECT_EQ(calls["MPI_Send"]["bytes"], 10000);
  EXPECT_NEAR(calls["MPI_Send"]["time_s"].get<double>(), 200e-6, 1e-12);
  EXPECT_NEAR(calls["MPI_Send"]["p50_us"].get<double>(), 20, 0.2);
  EXPECT_NEAR(calls["MPI_Send"]["p99_us"].get<double>(), 20, 0.2);
  ASSERT_EQ(json["matrix"].size(), 1u);
  EXPECT_EQ(json["matrix"][0].dump(), R"({"src":0,"dst":1,"count":10,"bytes":10000})");
  ASSERT_EQ(json["files"].size(), 2u);
  EXPECT_EQ(json["files"][1]["path"], "/scratch/out.1");
  EXPECT_EQ(json["files"][1]["writes"], 2);
  EXPECT_EQ(json["files"][1]["bytes_written"], 8192);
  EXPECT_EQ(json["files"][1]["opens"], 1);
  EXPECT_TRUE(json["losses"].empty());
}

TEST(RunModel, MergedQuantileUsesEachNodesTicks) {
  Histogram a, b;
  for (int i = 0; i < 10; ++i) a.add(100);
  for (int i = 0; i < 10; ++i) b.add(100);
  EXPECT_DOUBLE_EQ(merged_quantile({{&a, 1e-9}, {&b, 2e-9}}, 0.5), 100e-9);
  EXPECT_DOUBLE_EQ(merged_quantile({{&a, 1e-9}, {&b, 2e-9}}, 0.51), 200e-9);
  EXPECT_DOUBLE_EQ(merged_quantile({}, 0.5), 0);
}

// (L11); with recorded runs in tests/cli/test_hostile_files
TEST(RunModel, EmptyWorldHasNoNan) {
  RunMaker maker({});
  maker.add_rank(0, 1);  // attached, nothing else: killed at once
  auto run = load({maker.bytes()});
  ASSERT_EQ(run->worlds.size(), 1u);
  EXPECT_EQ(report_json(*run).dump().find("nan"), std::string::npos);
  Page page = make_report(*run, {});
  EXPECT_FALSE(page.tables.empty());
}

}  // namespace
}  // namespace slurmscope
