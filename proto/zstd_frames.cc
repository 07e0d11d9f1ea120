// See zstd_frames.h. The reader inflates a frame in steps and stops at a cap, so that neither a header
// that claims gigabytes nor a frame that inflates to them costs memory.
#include "proto/zstd_frames.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "proto/error.h"

namespace slurmscope {
namespace {
constexpr size_t kInputStep = 256 * 1024;
constexpr int kMaxWindowLog = 26;  // 64 MiB
constexpr unsigned char kFrameMagic[4] = {0x28, 0xb5, 0x2f, 0xfd};

struct FreeCompressor { void operator()(ZSTD_CCtx *context) const { ZSTD_freeCCtx(context); } };
struct FreeDecompressor { void operator()(ZSTD_DCtx *context) const { ZSTD_freeDCtx(context); } };

// Frames that zstd defines for others' use (0x184D2A50 to 5F) are passed over.
bool is_skippable(const unsigned char *magic) {
  return (magic[0] & 0xf0) == 0x50 && magic[1] == 0x2a && magic[2] == 0x4d && magic[3] == 0x18;
}
}  // namespace

struct FrameCompressor::State {
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> context{ZSTD_createCCtx()};
  std::vector<char> buffer;
};

FrameCompressor::FrameCompressor() : state_(std::make_unique<State>()) {
  ZSTD_CCtx *context = state_->context.get();
  if (context == nullptr) throw Error("zstd: no memory for a compressor");
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1);
}
FrameCompressor::~FrameCompressor() = default;

std::string_view FrameCompressor::compress(std::string_view content) {
  std::vector<char> &buffer = state_->buffer;
  size_t bound = ZSTD_compressBound(content.size());
  if (buffer.size() < bound) buffer.resize(bound);
  size_t size = ZSTD_compress2(state_->context.get(), buffer.data(), buffer.size(), content.data(), content.size());
  if (ZSTD_isError(size)) throw Error(std::string("zstd: cannot compress: ") + ZSTD_getErrorName(size));
  return {buffer.data(), size};
}

struct FrameReader::State {
  Read read;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context{ZSTD_createDCtx()};
  std::vector<unsigned char> input;
  size_t at = 0, filled = 0;  // what of `input` is not used yet
  uint64_t input_offset = 0;  // in the file, of input[0]
  bool is_ended = false;
  std::string content, reason;
  uint64_t frame_start = 0;
  bool is_garbage = false;

  uint64_t offset() const { return input_offset + at; }
  // Moves the rest to the front and reads more behind it; false if there is no more.
  bool fill() {
    if (is_ended) return false;
    std::memmove(input.data(), input.data() + at, filled - at);
    input_offset += at;
    filled -= at;
    at = 0;
    size_t got = read(input.data() + filled, input.size() - filled);
    filled += got;
    is_ended = got == 0;
    return got != 0;
  }
  Result damaged(std::string why) {
    reason = std::move(why);
    return Result::kDamaged;
  }
  bool inflate();
};

// One frame into `content`; false if it is damaged.
bool FrameReader::State::inflate() {
  ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only);
  auto fail = [this](const char *why) { return damaged(why) != Result::kDamaged; };
  size_t room = 0;  // grows only as bytes really arrive
  for (;;) {
    size_t before = content.size();
    if (before == room)  // past the cap, one byte more proves that the frame is too long
      room = room == kMaxFrameContent ? room + 1 : std::min(kMaxFrameContent, std::max(ZSTD_DStreamOutSize(), room * 2));
    content.resize(room);
    ZSTD_outBuffer out{content.data(), room, before};
    ZSTD_inBuffer in{input.data(), filled, at};
    size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    bool is_stuck = in.pos == at && out.pos == before;
    at = in.pos;
    content.resize(out.pos);
    if (ZSTD_isError(left)) {
      std::string name = ZSTD_getErrorName(left);
      return fail(name.find("checksum") != std::string::npos ? "checksum mismatch"
                                                             : ("corrupted frame (" + name + ")").c_str());
    }
    if (out.pos > kMaxFrameContent) return fail("a frame inflates to more than 64 MiB");
    if (left == 0) return true;
    if (out.pos == room) continue;
    if (at == filled) {
      if (!fill()) return fail("cut inside a frame");
    } else if (is_stuck) {
      return fail("corrupted frame (no progress)");
    }
  }
}

FrameReader::FrameReader(Read read) : state_(std::make_unique<State>()) {
  state_->read = std::move(read);
  state_->input.resize(kInputStep);
  if (state_->context == nullptr) throw Error("zstd: no memory for a decompressor");
  ZSTD_DCtx_setParameter(state_->context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
}
FrameReader::~FrameReader() = default;

FrameReader::Result FrameReader::next() {
  State &self = *state_;
  for (;;) {
    self.content.clear();
    self.frame_start = self.offset();
    while (self.filled - self.at < 4 && self.fill()) {
    }
    size_t present = self.filled - self.at;
    if (present == 0) return Result::kEnd;
    const unsigned char *magic = self.input.data() + self.at;
    if (present < 4 && std::memcmp(magic, kFrameMagic, present) == 0) return self.damaged("cut inside a frame");
    bool is_skipped = present >= 4 && is_skippable(magic);
    if (!is_skipped && (present < 4 || std::memcmp(magic, kFrameMagic, 4) != 0)) {
      self.is_garbage = true;
      return self.damaged("bytes that are no zstd frame");
    }
    if (!self.inflate()) return Result::kDamaged;
    if (!is_skipped) return Result::kFrame;
  }
}

const std::string &FrameReader::content() const { return state_->content; }
const std::string &FrameReader::reason() const { return state_->reason; }
uint64_t FrameReader::frame_start() const { return state_->frame_start; }
uint64_t FrameReader::frame_end() const { return state_->offset(); }
bool FrameReader::is_garbage() const { return state_->is_garbage; }

}  // namespace slurmscope
