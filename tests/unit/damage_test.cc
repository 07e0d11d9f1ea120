// Whatever a file holds, the model, the report and its JSON survive it: cut anywhere, bits flipped in
// front of and behind the compression.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "proto/error.h"
#include "proto/zstd_frames.h"
#include "tests/unit/run_maker.h"
#include "tools/compare/run_facts.h"
#include "tools/export/exporters.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using namespace test;

/// True if anything could be shown. Only Error may be thrown.
bool survives(const std::string &bytes) {
  RunModel run;
  run.path = "file.sst";
  try {
    run.set.add_bytes(run.path, bytes);
  } catch (const Error &) {
    return false;
  }
  run.set.finish();
  run.worlds = build_worlds(run.set);
  if (run.worlds.empty()) return false;
  std::string text = page_text(make_report(run, {true}));
  EXPECT_EQ(text.find("nan"), std::string::npos);
  std::string json = json_text(report_json(run));
  EXPECT_TRUE(nlohmann::json::accept(json));
  extract_facts(run);
  return true;
}

std::string unpacked(const std::string &bytes) {
  std::string_view left = bytes;
  FrameReader frames([&](void *buffer, size_t size) {
    size_t n = std::min(size, left.size());
    std::memcpy(buffer, left.data(), n);
    left.remove_prefix(n);
    return n;
  });
  std::string content;
  while (frames.next() == FrameReader::Result::kFrame) content += frames.content();
  return content;
}

TEST(Damage, CutAnywhere) {
  std::string whole = make_exchange({}, true).bytes();
  ASSERT_TRUE(survives(whole));
  size_t shown = 0;
  for (size_t size = 0; size < whole.size(); ++size) shown += survives(whole.substr(0, size));
  EXPECT_GT(shown, whole.size() / 4);  // the first of four frames holds the ranks
}

/// More than 4096 bytes, a frame for each of 40 ranks.
std::string long_file() {
  RunMaker maker({});
  std::mt19937_64 random(7);
  for (int rank = 0; rank < 40; ++rank) {
    uint32_t id = maker.add_rank(rank, 40);
    maker.file(id, 1, "/scratch/out." + std::to_string(rank));
    maker.life(id, 1000000, 900000000, 1000);
    for (uint64_t i = 1; i < 40; ++i) {
      uint64_t at = 2000000 + i * 20000000 + random() % 10000000;
      maker.call(id, i % 2 == 0 ? kAllreduce : kWrite, at, at + random() % 100000, random() % 5000).object = i % 2 == 0 ? 0 : 1;
    }
  }
  return maker.bytes();
}

// (L9) Every cut of the first 4096 bytes, and some behind: what is shown is what came before, and grows with the file.
TEST(Damage, CutAtEachOfTheFirst4096Bytes) {
  std::string whole = long_file();
  ASSERT_GT(whole.size(), 5000u);
  std::vector<size_t> sizes;
  for (size_t size = 0; size <= 4096; ++size) sizes.push_back(size);
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) sizes.push_back(4096 + random() % (whole.size() - 4096));
  std::sort(sizes.begin(), sizes.end());
  bool was_shown = false;
  for (size_t size : sizes) {
    bool is_shown = survives(whole.substr(0, size));
    EXPECT_TRUE(is_shown || !was_shown) << size;
    was_shown = is_shown;
  }
  EXPECT_TRUE(was_shown);
}

TEST(Damage, FlippedBitsInTheFile) {
  std::string whole = make_exchange({}, true).bytes();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
    survives(bytes);
  }
}

TEST(Damage, FlippedBitsInThePackets) {
  RunMaker maker = make_exchange({}, true);
  maker.loss(1, "ring full", 3);
  maker.task(0, 1001, 0);
  std::string content = unpacked(maker.bytes());
  ASSERT_GT(content.size(), 500u);
  std::mt19937_64 random(1);
  FrameCompressor compressor;
  size_t shown = 0;
  constexpr size_t kTries = 3000;
  for (size_t i = 0; i < kTries; ++i) {
    std::string changed = content;
    for (size_t flips = 1 + random() % 4; flips > 0; --flips) {
      size_t at = random() % changed.size();
      changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
    }
    shown += survives(std::string(compressor.compress(changed)));
  }
  EXPECT_GT(shown, kTries / 10);
}

TEST(Damage, AbsurdNumbers) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(-5 + 1000000000, INT32_MAX);
  maker.process(id).set_init_start_ticks(UINT64_MAX);
  maker.process(id).set_finalize_end_ticks(1);
  maker.process(id).set_wait_status(-1);
  maker.call(id, kSend, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, INT32_MAX);
  maker.call(id, kRead, 0, UINT64_MAX, 1);
  v1::Packet anchors;
  anchors.mutable_clock_anchors()->add_ticks(UINT64_MAX);
  anchors.mutable_clock_anchors()->add_monotonic_ns(INT64_MIN);
  anchors.mutable_clock_anchors()->add_realtime_ns(INT64_MAX);
  maker.add(anchors);
  EXPECT_TRUE(survives(maker.bytes()));
}

}  // namespace
}  // namespace slurmscope
