// Tables to text, JSON and CSV; strange names.
#include "tools/export/exporters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/unit/run_maker.h"
#include "tools/export/event_text.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

Table sample() {
  return {"t", "TITLE", {{"name", "", ColumnKind::kText}, {"n", "", ColumnKind::kCount}, {"time", "s", ColumnKind::kSeconds}},
          {{std::string("a,\"b\""), uint64_t{1234567}, 0.5}, {std::string("x\x1b[2J\n"), Cell{}, NAN}}, {"a note"}};
}

TEST(Exporters, Text) {
  EXPECT_EQ(table_text(sample()),
            "TITLE\n"
            "  name                  n  time [s]\n"
            "  a,\"b\"         1 234 567    0.5000\n"
            "  x\\x1b[2J\\x0a          -         -\n"
            "  a note\n");
}

TEST(Exporters, Csv) {
  EXPECT_EQ(table_csv(sample()), "name,n,time [s]\n\"a,\"\"b\"\"\",1234567,0.5\n\"x\x1b[2J\n\",,\n");
}

TEST(Exporters, JsonHasNoNan) {
  nlohmann::ordered_json json = table_json(sample());
  EXPECT_TRUE(json["rows"][1][2].is_null());
  EXPECT_EQ(json["rows"][0][1], 1234567);
}

TEST(Exporters, Printable) {
  EXPECT_EQ(printable("plain ü€😀"), "plain ü€😀");
  EXPECT_EQ(printable("\xff\xc3(\xc0\xaf\xed\xa0\x80"), "\\xff\\xc3(\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xc2\x9b" "31m\x7f"), "\\xc2\\x9b31m\\x7f");
}

TEST(Exporters, CutMiddleKeepsCharactersWhole) {
  EXPECT_EQ(cut_middle("short", 20), "short");
  std::string text = cut_middle("/very/long/päth/with/ümlauts/and/the/name.dat", 20);
  EXPECT_EQ(text_width(text), 20u);
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(text.substr(text.size() - 8), "name.dat");
}

TEST(Exporters, Values) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(1e300), bytes_text(1e300));
  EXPECT_EQ(seconds_text(412.64), "412.6");
  EXPECT_EQ(seconds_text(0), "0");
}

// (H5) 60 days after the node's boot: no exporter wraps, rounds or scales by ten.
class SixtyDays : public ::testing::Test {
 protected:
  static constexpr uint64_t kStart = 60ull * 86400 * 1000000000 + 123456789;
  void SetUp() override {
    test::RunMaker maker({});
    uint32_t id = maker.add_rank(0, 1);
    maker.life(id, kStart, kStart + 2000000000, 1000);
    maker.call(id, test::kBarrier, kStart + 1000000, kStart + 1000250);
    std::string bytes = maker.bytes();
    run.set.add_bytes("step0.n1.sst", bytes);
    run.set.finish();
    run.worlds = build_worlds(run.set);
    TraceVisitor visitor;
    visitor.events = [this](uint32_t, uint32_t, const std::vector<TraceEvent> &batch) { rows = batch; };
    read_trace_bytes("t", bytes, visitor);
  }
  RunModel run;
  std::vector<TraceEvent> rows;
};

TEST_F(SixtyDays, Json) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(json_text(report_json(run)));
  EXPECT_EQ(json["start_realtime_ns"].get<int64_t>(), test::kRealtime + static_cast<int64_t>(kStart));
  EXPECT_NEAR(json["wall_s"].get<double>(), 2, 1e-9);
}

TEST_F(SixtyDays, Page) {
  std::string page = page_text(make_report(run, {}));
  EXPECT_NE(page.find("2024-01-13 22:13:20 UTC"), std::string::npos) << page;  // 1.7e9 s + 60 days, 2023-11-14 22:13:20
  EXPECT_NE(page.find("2.000 s"), std::string::npos) << page;
}

TEST_F(SixtyDays, TableCsv) {
  Table table = rank_table(run.chosen(), {});
  EXPECT_NE(table_csv(table).find(",2,"), std::string::npos) << table_csv(table);
}

TEST_F(SixtyDays, DumpAsCsvAndText) {
  ASSERT_EQ(rows.size(), 3u);
  std::string csv = events_text(*run.set.streams[0], 1, 1, rows, true);
  std::string expected = std::to_string(test::kRealtime + static_cast<int64_t>(kStart) + 1000000) + ",0.250,MPI_Barrier";
  EXPECT_NE(csv.find(expected), std::string::npos) << csv;
  std::string text = events_text(*run.set.streams[0], 1, 1, rows, false);
  EXPECT_NE(text.find("1705184000.124456789"), std::string::npos) << text;
}

}  // namespace
}  // namespace slurmscope
