// Files that are cut, flipped, made up or enormous: never a crash, never invented data, bounded memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>

#include "proto/error.h"
#include "proto/trace_writer.h"
#include "proto/version.h"
#include "proto/zstd_frames.h"
#include "tests/unit/trace_maker.h"

namespace slurmscope::test {
namespace {

std::string frame_of(std::string_view content) {
  FrameCompressor compressor;
  return std::string(compressor.compress(content));
}

std::string trace_of(const v1::Packet &packet) {
  v1::Trace trace;
  *trace.add_packet() = packet;
  return trace.SerializeAsString();
}

// True if what was read of a damaged file is a prefix of what was written.
bool is_prefix(const ReadBack &part, const ReadBack &whole) {
  if (part.packets.size() > whole.packets.size()) return false;
  for (size_t i = 0; i < part.packets.size(); i++)
    if (part.packets[i].SerializeAsString() != whole.packets[i].SerializeAsString()) return false;
  for (const auto &[key, rows] : part.rows) {
    auto other = whole.rows.find(key);
    if (other == whole.rows.end() || rows.size() > other->second.size()) return false;
    if (!std::equal(rows.begin(), rows.end(), other->second.begin())) return false;
  }
  return true;
}

std::string error_of(std::string_view bytes) {
  try {
    read_back(bytes);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

// (L9)
TEST(HostileTrace, CutAtEveryByte) {
  std::string bytes = sample_trace(1, 200, 3);
  ReadBack whole = read_back(bytes);
  ASSERT_FALSE(whole.damage.damaged);
  uint64_t frames_before = 0;
  EXPECT_EQ(error_of(""), "test.sst: the file is empty");
  for (size_t size = 1; size < bytes.size(); size++) {
    ReadBack part = read_back(std::string_view(bytes).substr(0, size));
    ASSERT_TRUE(is_prefix(part, whole)) << size;
    ASSERT_GE(part.damage.frames, frames_before);
    frames_before = part.damage.frames;
    if (!part.damage.damaged) continue;  // cut between two frames
    EXPECT_EQ(part.damage.reason, "cut inside a frame");
    EXPECT_LT(part.damage.offset, size);
  }
}

// (L10), and the bombs below
TEST(HostileTrace, FlippedBits) {
  std::string bytes = sample_trace(2, 300, 4);
  ReadBack whole = read_back(bytes);
  Random random(20240229);
  int damaged = 0;
  for (int i = 0; i < 1000; i++) {
    std::string flipped = bytes;
    size_t bit = random.below(bytes.size() * 8);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      ReadBack part = read_back(flipped);
      ASSERT_TRUE(is_prefix(part, whole)) << "bit " << bit;
      damaged += part.damage.damaged;
    } catch (const Error &) {
      damaged++;
    }
  }
  EXPECT_GT(damaged, 990);
}

TEST(HostileTrace, FlippedBitsBelowTheChecksum) {
  // The attacker can compute a checksum too: flips in the content must not crash either.
  v1::Trace trace;
  *trace.add_packet() = header_packet();
  std::string content = trace.SerializeAsString();
  {
    MemorySink sink;
    TraceWriter writer(&sink);
    writer.write(header_packet());
    writer.write_events(1, 1, wild_rows(3, 50));
    v1::Packet packet;
    std::vector<v1::CallClass> classes;
    packet.mutable_summary()->add_calls()->mutable_durations()->add_bucket_delta(4000000000u);
    packet.mutable_summary()->mutable_calls(0)->mutable_durations()->add_count(1);
    writer.write(packet);
    writer.flush();
    std::string inflated(ZSTD_getFrameContentSize(sink.bytes.data(), sink.bytes.size()), 0);
    ZSTD_decompress(inflated.data(), inflated.size(), sink.bytes.data(), sink.bytes.size());
    content = inflated;
  }
  Random random(7);
  for (int i = 0; i < 3000; i++) {
    std::string flipped = content;
    for (uint64_t flips = 1 + random.below(3); flips > 0; flips--) {
      size_t bit = random.below(content.size() * 8);
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    }
    try {
      read_back(frame_of(flipped));
    } catch (const Error &) {
    }
  }
}

TEST(HostileTrace, TrailingGarbage) {
  std::string bytes = sample_trace(3, 10, 1);
  ReadBack back = read_back(bytes + "garbage");
  EXPECT_TRUE(back.damage.damaged);
  EXPECT_EQ(back.damage.offset, bytes.size());
  EXPECT_EQ(back.damage.reason, "bytes that are no zstd frame");
  EXPECT_TRUE(back.packets.back().has_index());
  EXPECT_TRUE(read_back(bytes + "x").damage.damaged);
}

TEST(HostileTrace, NoTrace) {
  EXPECT_NE(error_of("#!/bin/sh\necho\n").find("not a Slurmscope trace"), std::string::npos);
  EXPECT_NE(error_of("x").find("not a Slurmscope trace"), std::string::npos);
  EXPECT_NE(error_of(frame_of("hello, this is some text")).find("not a Slurmscope trace"), std::string::npos);
  EXPECT_NE(error_of(frame_of("")).find("not a Slurmscope trace"), std::string::npos);
  v1::Packet packet;
  packet.mutable_note()->set_text("no header before me");
  EXPECT_NE(error_of(frame_of(trace_of(packet))).find("no header"), std::string::npos);
  EXPECT_THROW(read_trace("/nonexistent/x.sst", {}), Error);
  EXPECT_THROW(read_trace("/", {}), Error);
}

TEST(HostileTrace, APipeIsRefusedAtOnce) {
  char directory[] = "/tmp/slurmscope-pipe-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  std::string path = std::string(directory) + "/step0.n1.sst";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const std::string &name : {path, std::string("/dev/zero"), std::string(directory)})
    EXPECT_THROW(read_trace(name, {}), Error) << name;
  unlink(path.c_str());
  rmdir(directory);
}

// (L15)
TEST(HostileTrace, NewerFormat) {
  v1::Packet packet = header_packet();
  packet.mutable_header()->set_format_major(kFormatMajor + 1);
  packet.mutable_header()->set_format_minor(3);
  std::string message = error_of(frame_of(trace_of(packet)));
  EXPECT_NE(message.find("newer slurmscope"), std::string::npos) << message;
  EXPECT_NE(message.find(std::to_string(kFormatMajor + 1) + ".3"), std::string::npos) << message;
  EXPECT_NE(message.find(std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor)), std::string::npos);
  // Behind a stream that can be read it is damage, so that the first is shown.
  ReadBack back = read_back(sample_trace(1, 10, 1) + frame_of(trace_of(packet)));
  EXPECT_TRUE(back.damage.damaged);
  EXPECT_FALSE(back.rows.empty());
  packet.mutable_header()->set_format_major(kFormatMajor);
  packet.mutable_header()->set_format_minor(kFormatMinor + 7);
  EXPECT_FALSE(read_back(frame_of(trace_of(packet))).damage.damaged) << "a newer minor version is readable";
}

TEST(HostileTrace, UnknownPacketsAreSkipped) {
  std::string content = trace_of(header_packet());
  content += std::string("\x0a\x05\xfa\x06\x02hi", 7);  // packet { 111: "hi" }
  content += std::string("\x12\x02zz", 4);              // field 2 of Trace
  v1::Packet note;
  note.mutable_note()->set_text("after");
  content += trace_of(note);
  ReadBack back = read_back(frame_of(content));
  EXPECT_FALSE(back.damage.damaged) << back.damage.reason;
  ASSERT_EQ(back.packets.size(), 2u);
  EXPECT_EQ(back.packets[1].note().text(), "after");
}

TEST(HostileTrace, PacketsDoNotSpanFrames) {
  std::string content = trace_of(header_packet());
  v1::Packet note;
  note.mutable_note()->set_text("a text that is cut in the middle");
  std::string second = trace_of(note);
  ReadBack back = read_back(frame_of(content + second.substr(0, 10)) + frame_of(second.substr(10)));
  EXPECT_TRUE(back.damage.damaged);
  EXPECT_EQ(back.packets.size(), 1u);
}

// Frame whose content is `content` followed by `zeros` zeros, made without holding them.
std::string bomb(const std::string &content, uint64_t zeros) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 27);
  std::string out(8 << 20, 0);
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_inBuffer from{content.data(), content.size(), 0};
  ZSTD_compressStream2(context, &to, &from, ZSTD_e_continue);
  std::string block(1 << 20, 0);
  for (uint64_t done = 0; done < zeros; done += block.size()) {
    ZSTD_inBuffer more{block.data(), block.size(), 0};
    while (more.pos < more.size) ZSTD_compressStream2(context, &to, &more, ZSTD_e_continue);
  }
  ZSTD_inBuffer nothing{nullptr, 0, 0};
  EXPECT_EQ(ZSTD_compressStream2(context, &to, &nothing, ZSTD_e_end), 0u);
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

long peak_kib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(HostileTrace, FrameBombIsBounded) {
  std::string file = sample_trace(1, 10, 1) + bomb("", uint64_t{2} << 30);
  long before = peak_kib();
  ReadBack back = read_back(file);
  EXPECT_TRUE(back.damage.damaged);
  EXPECT_FALSE(back.rows.empty());
  EXPECT_LT(peak_kib() - before, 400 * 1024);
}

TEST(HostileTrace, CountBombsAreBounded) {
  auto events_packet = [](const v1::Events &events) {
    v1::Packet packet;
    *packet.mutable_events() = events;
    return trace_of(packet);
  };
  auto reason_of = [&](const v1::Events &events) {
    ReadBack back = read_back(frame_of(trace_of(header_packet()) + events_packet(events)));
    EXPECT_TRUE(back.rows.empty());
    return back.damage.reason;
  };
  v1::Events events;
  events.set_count(1000000);
  EXPECT_EQ(reason_of(events), "an Events packet has fewer values than rows");
  events.set_count(UINT32_MAX);
  EXPECT_EQ(reason_of(events), "an Events packet claims too many rows");
  events.set_count(2);
  events.add_start_delta(0);
  events.add_start_delta(1);
  events.add_call(1);
  EXPECT_EQ(reason_of(events), "an Events column has fewer or more values than rows");
  events.add_call(1);
  events.add_call(1);
  EXPECT_EQ(reason_of(events), "an Events column has fewer or more values than rows");

  // Two bytes of file per entry, a hundred bytes of memory: refused before it is parsed.
  std::string summary;
  for (int i = 0; i < 2000000; i++) summary.append("\x12\x00", 2);
  std::string packet = "\x72";  // field 14, summary
  auto put_size = [](std::string *to, size_t size) {
    for (; size >= 0x80; size >>= 7) to->push_back(static_cast<char>(size | 0x80));
    to->push_back(static_cast<char>(size));
  };
  put_size(&packet, summary.size());
  packet += summary;
  std::string content = trace_of(header_packet()) + "\x0a";
  put_size(&content, packet.size());
  long before = peak_kib();
  EXPECT_EQ(read_back(frame_of(content + packet)).damage.reason, "a packet has too many parts");
  EXPECT_LT(peak_kib() - before, 200 * 1024);
}

}  // namespace
}  // namespace slurmscope::test
