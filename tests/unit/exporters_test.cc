// Tables to text, JSON and CSV; strange names.
#include "tools/export/exporters.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace slurmscope
