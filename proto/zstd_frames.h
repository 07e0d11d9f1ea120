// Independent zstd frames: one compressor, one bounded reader. Called by the trace writer and reader.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace slurmscope {

/// Largest uncompressed content of one frame that is read, and the largest window that is allocated.
constexpr size_t kMaxFrameContent = 64 * 1024 * 1024;

/// Compresses one frame: level 1, content size in the header, content checksum at the end.
class FrameCompressor {
 public:
  FrameCompressor();
  ~FrameCompressor();
  FrameCompressor(const FrameCompressor &) = delete;
  FrameCompressor &operator=(const FrameCompressor &) = delete;
  /// The frame for `content`; valid until the next call. Throws Error if zstd fails.
  std::string_view compress(std::string_view content);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads frames one after another from whatever `read` gives (0 = the end), in bounded memory.
class FrameReader {
 public:
  enum class Result { kFrame, kEnd, kDamaged };
  using Read = std::function<size_t(void *buffer, size_t size)>;
  explicit FrameReader(Read read);
  ~FrameReader();
  FrameReader(const FrameReader &) = delete;
  FrameReader &operator=(const FrameReader &) = delete;
  /// kFrame: the next frame is in content(), whole and checked. kDamaged: reason() says why not.
  Result next();
  const std::string &content() const;
  const std::string &reason() const;
  /// Where the frame of the last next() starts, and where it ends (if it is whole).
  uint64_t frame_start() const;
  uint64_t frame_end() const;
  /// True if the damage is that bytes were found where a frame should start.
  bool is_garbage() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slurmscope
