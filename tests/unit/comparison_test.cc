// Expressions, gates, verdict and exit code of `compare`, from facts made by hand.
#include "tools/compare/comparison.h"

#include <gtest/gtest.h>

#include "proto/error.h"

namespace slurmscope {
namespace {

RunFacts fact(double wall, int64_t minute, const char *partition) {
  RunFacts f;
  f.path = f.id = std::string(partition) + std::to_string(minute);
  f.wall_s = wall;
  f.start_ns = 1700000000000000000 + minute * 60000000000;
  f.ranks = 4;
  f.nodes = 2;
  f.hosts = {"a", "b"};
  f.app = "solver";
  f.build_id = "9f3a1c0000";
  f.partition = partition;
  f.mpi_library = "Open MPI 4.1.4";
  f.arguments = {"-in", "in.melt"};
  f.categories[0] = 0.8 * wall;
  f.categories[1] = 0.2 * wall;
  f.work = {{"MPI_Allreduce", 12400}, {"MPI_Allreduce bytes", 99200}};
  f.calls = 1000;
  f.format_major = 1;
  f.recording = "trace";
  return f;
}

RunGroup group(const char *partition, std::vector<double> walls, int64_t first = 0) {
  RunGroup g;
  g.key = partition;
  for (double wall : walls) g.runs.push_back(fact(wall, first++ * 2, partition));
  return g;
}

const Gate *find(const Comparison &c, const std::string &code) {
  for (const Gate &gate : c.gates)
    if (gate.code == code) return &gate;
  return nullptr;
}

// What may not be compared is refused, with what differs: sizes, programs, inputs, truncated and killed runs. (L12)
struct Refusal : testing::Test {
  RunGroup base = group("bm", {100, 101, 102}), cand = group("vm", {110, 111, 112});
  CompareOptions options;
  std::string text(const char *code) {
    Comparison c = compare_groups(base, cand, options);
    EXPECT_EQ(exit_code(c), 3);
    const Gate *gate = find(c, code);
    return gate ? gate->text : "";
  }
};

TEST_F(Refusal, ComparableIsSlowerProvisionally) {
  Comparison c = compare_groups(base, cand, options);
  EXPECT_FALSE(c.refused);
  EXPECT_EQ(exit_code(c), 4);
  options.alpha = 0.10;
  EXPECT_EQ(exit_code(compare_groups(base, cand, options)), 1);
  EXPECT_EQ(exit_code(compare_groups(cand, base, options)), 0);
  ASSERT_EQ(c.rank_view.size(), 2u);
  EXPECT_NEAR(c.rank_view[0].delta_s, 8, 1e-9);
  EXPECT_NEAR(c.rank_view[1].delta_s, 2, 1e-9);
  EXPECT_NEAR(c.total.delta_s, 10, 1e-9);
  EXPECT_NEAR(*c.rank_view[0].share, 0.8, 1e-9);
}

TEST_F(Refusal, TooFewRuns) {
  base.runs.pop_back();
  EXPECT_EQ(text("E-NRUNS"), "refused: base has n=2 runs (need >=3 for any interval, >=4 for a 95% one; benchstat-style tests cannot "
                             "reach p<0.05 at 3+3: min p = 0.10). Run 2 more, or use 'report' to look at single runs.");
  base.runs.clear();
  options.forced = {"NRUNS"};
  EXPECT_NE(text("E-NRUNS"), "");  // nothing to compare: cannot be forced
}

TEST_F(Refusal, Ranks) {
  for (RunFacts &run : base.runs) run.ranks = 448;
  for (RunFacts &run : cand.runs) run.ranks = 416;
  EXPECT_EQ(text("E-RANKS"), "refused: 448 vs 416 ranks; per-rank attribution would mix fewer cores with virtualization overhead. Re-run "
                             "with equal ranks (mpirun -n 416 on both), or use --match nodes to compare node-for-node; the lost-core "
                             "effect is then shown separately (+7.7% expected).");
}

TEST_F(Refusal, LostCores) {
  for (RunFacts &run : base.runs) run.ranks = 56, run.categories = {100, 0};
  for (RunFacts &run : cand.runs) run.ranks = 52, run.categories = {100.0 * 56 / 52, 0};
  options.match_nodes = true;
  Comparison c = compare_groups(base, cand, options);
  ASSERT_FALSE(c.refused);
  ASSERT_EQ(c.rank_view[1].key, "lost_cores");
  EXPECT_NEAR(c.rank_view[1].delta_s / c.rank_view[1].base_s, 0.0769, 5e-5);
  EXPECT_NEAR(c.rank_view[2].delta_s, 0, 1e-9);
}

TEST_F(Refusal, Binary) {
  for (RunFacts &run : cand.runs) run.build_id = "11c0aa9900";
  EXPECT_EQ(text("E-BIN"), "refused: different binary (build-id 9f3a1c00… vs 11c0aa99…). Differences would include the compiler. Override: "
                           "--force BIN (attribution is then labelled \"binary+platform\").");
  options.forced = {"BIN"};
  EXPECT_FALSE(compare_groups(base, cand, options).refused);
}

TEST_F(Refusal, MixedSizesInOneGroupAlsoNodeForNode) {
  options.match_nodes = true;
  for (RunFacts &run : cand.runs) run.ranks = 44;
  EXPECT_FALSE(compare_groups(base, cand, options).refused);
  cand.runs.front().ranks = 40;
  EXPECT_EQ(text("E-RANKS"), "refused: cand holds runs of 40 and of 44 ranks; --match nodes compares two groups, each of one size.");
}

TEST_F(Refusal, NoWallTime) {
  cand.runs.front().wall_s = 0;
  cand.runs.front().id = "9";
  options.forced = {"WALL"};  // there is nothing to compute with
  EXPECT_EQ(text("E-WALL"), "refused: 9 has no wall time (its clock is not known); leave it out.");
  EXPECT_TRUE(compare_groups(base, cand, options).refused);
}

TEST_F(Refusal, MpiLibrary) {
  for (RunFacts &run : cand.runs) run.mpi_library = "Intel MPI 2021.11";
  EXPECT_EQ(text("E-DSO"), "refused: MPI library differs (Open MPI 4.1.4 vs Intel MPI 2021.11). --force DSO keeps totals, drops "
                           "p2p/collective attribution to the platform.");
}

TEST_F(Refusal, Input) {
  for (RunFacts &run : cand.runs) run.arguments[1] = "in.lj";
  EXPECT_EQ(text("E-INPUT"), "refused: different input (argv[2] 'in.melt' vs 'in.lj').");
}

TEST_F(Refusal, Work) {
  for (RunFacts &run : cand.runs) run.work["MPI_Allreduce"] = 14880;
  EXPECT_EQ(text("E-WORK"), "refused: different work: MPI_Allreduce/rank 12,400 vs 14,880 (+20.0%).");
  for (RunFacts &run : cand.runs) run.work["MPI_Allreduce"] = 12700;
  Comparison c = compare_groups(base, cand, options);
  EXPECT_FALSE(c.refused);
  EXPECT_NE(find(c, "W-WORK"), nullptr);
}

TEST_F(Refusal, EndAndDropAndTool) {
  cand.runs[1].bad_end = "exited 137 on rank 13; 2 of 416 rank files missing";
  cand.runs[1].id = "4711";
  EXPECT_EQ(text("E-EXIT"), "refused: run 4711 exited 137 on rank 13; 2 of 416 rank files missing.");
  cand.runs[1].bad_end.clear();
  cand.runs[2].recording = "summary";
  EXPECT_EQ(text("E-TOOL"), "refused: recorded as 'trace' vs 'summary': the tool's own cost differs.");
  cand.runs[2].recording = "trace";
  cand.runs[0].lost = 33;
  Comparison c = compare_groups(base, cand, options);
  EXPECT_FALSE(c.refused);
  EXPECT_FALSE(c.attribution);
  EXPECT_TRUE(c.rank_view.empty());
  ASSERT_NE(find(c, "E-DROP"), nullptr);
  EXPECT_NE(find(c, "E-DROP")->text.find("3.2% events dropped"), std::string::npos);
}

TEST_F(Refusal, Warnings) {
  Comparison c = compare_groups(base, cand, options);
  EXPECT_NE(find(c, "W-NODESET"), nullptr);
  EXPECT_EQ(find(c, "W-TIME"), nullptr);
  cand = group("vm", {110, 111, 112}, 1000);
  for (RunFacts &run : cand.runs) run.partition = "virtual", run.vm = "none";
  c = compare_groups(base, cand, options);
  EXPECT_NE(find(c, "W-TIME"), nullptr);
  EXPECT_NE(find(c, "W-LABEL"), nullptr);
  base = group("bm", {100, 100.1, 100.2, 100.3, 160});
  EXPECT_NE(find(compare_groups(base, cand, options), "W-OUTLIER"), nullptr);
  base = group("bm", {130, 100.1, 100.2, 100.3});
  EXPECT_NE(find(compare_groups(base, cand, options), "W-FIRST"), nullptr);
}

TEST_F(Refusal, PageAndJsonHaveTheNumbers) {
  Comparison c = compare_groups(base, cand, options);
  nlohmann::ordered_json json = compare_json(c);
  EXPECT_EQ(json["headline"]["verdict"], "SLOWER");
  EXPECT_NEAR(json["headline"]["pct"].get<double>(), 9.90, 0.005);
  EXPECT_EQ(json["groups"][1]["runs"].size(), 3u);
  Page page = compare_page(c);
  std::string all;
  for (auto &[label, text] : page.head) all += text + "\n";
  EXPECT_NE(all.find("cand is +9.9% slower  [+7.8%, +12.0%] 90.0% exact CI (Hodges-Lehmann) · p>=0.10 (minimum possible) · 9/9 pairs"),
            std::string::npos) << all;
}

TEST(Expression, TermsAlternativesNegationAndPatterns) {
  RunKeys keys{{"partition", {"bm"}}, {"nodes", {"2"}}, {"host", {"n1", "n2"}}, {"date", {"2026-11-30"}}, {"tag.x", {"a b"}}};
  auto matches = [&](const char *text) { return Expression(text).matches(keys); };
  EXPECT_TRUE(matches("partition:bm"));
  EXPECT_TRUE(matches("partition:bm nodes:2"));
  EXPECT_FALSE(matches("partition:bm nodes:3"));
  EXPECT_TRUE(matches("partition:vm OR nodes:2"));
  EXPECT_FALSE(matches("partition:vm OR nodes:2 -host:n1"));
  EXPECT_TRUE(matches("-partition:vm"));
  EXPECT_TRUE(matches("host:/^n[2-9]$/"));
  EXPECT_TRUE(matches("date:2026-11"));
  EXPECT_TRUE(matches("tag.x:\"a b\""));
  EXPECT_FALSE(matches("app:x"));
  EXPECT_TRUE(matches("*"));
  for (const char *bad : {"", "bm", "colour:red", "host:/(/", "partition:bm OR", "OR partition:bm", "host:/x"})
    EXPECT_THROW(Expression{bad}, Error) << bad;
}

}  // namespace
}  // namespace slurmscope
