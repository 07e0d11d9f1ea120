// The I/O engine, continued (io_engine.h): C streams. What libc does inside (the write() of a stream that is
// flushed) cannot be seen, so streams are counted where the application calls them, once.
//
// Same threading and signal rules. Of a stream nothing is read before libc would read it itself, and of a buffer
// nothing at all but the text that libc has just put there or read.
#pragma once

#include <cstring>

#include "profiler/io/io_engine.h"

namespace slurmscope {

/// fileno() of a stream, keeping errno; -1 for a stream in memory, and for NULL.
int descriptor_of(FILE *stream);

template <typename Call> int stream_close_call(uint16_t call, FILE *stream, Call real) {
  if (!is_following()) return close_call(call, -1, real);
  int fd = descriptor_of(stream);
  return fd < 0 ? real() : close_call(call, fd, real);
}

/// freopen: the stream lets its descriptor go and gets one, the same number or another. Without a path only its mode
/// changes.
IO_ONCE FILE *stream_reopen_call(uint16_t call, const char *path, FILE *stream, FunctionRef<FILE *()> real) {
  reach_safe_point();
  uint32_t before = kNoFile;
  if (is_followed()) {
    int fd = descriptor_of(stream);
    before = known_file_of_descriptor(fd);
    set_descriptor(fd, kNoFile);
  }
  if (admit() != Admission::kRecord) {
    FILE *result = real();
    if (result != nullptr && is_followed()) set_descriptor(descriptor_of(result), kNoFile);
    return result;
  }
  Recording recording(call, kGuardOfIo);
  FILE *result = real();
  int error = errno;
  Event *event = recording.finish();
  int fd = result != nullptr ? descriptor_of(result) : -1;
  uint32_t file = kNoFile;
  if (path == nullptr) {
    file = before != kUnknowableFile ? before : kNoFile;
    if (fd >= 0) set_descriptor(fd, before);
  } else if (fd >= 0) {
    file = bind_opened(fd, AT_FDCWD, path, 0);
  } else if (path_was_read(error)) {
    file = file_of_path(AT_FDCWD, path, false);
  }
  if (event != nullptr && file != kExcludedFile) {
    event->object = file_id(file);
    event->peer = fd;
    if (result == nullptr) describe_failure(event, error);
    recording.publish();
  }
  errno = error;
  return result;
}

/// fread and fwrite: `count` items of `size` bytes wanted, the result says how many were moved.
template <typename Call>
size_t stream_call(uint16_t call, FILE *stream, size_t size, size_t count, Call real) {
  Admission admission = admit();
  if (admission == Admission::kPass || size == 0 || count == 0) return real();
  if (admission == Admission::kCount) {
    size_t moved = real();
    count_early_bytes(moved * size);
    return moved;
  }
  int fd = descriptor_of(stream);
  uint32_t file = fd < 0 ? kExcludedFile : file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  size_t moved = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    event->bytes = moved * size;
    if (moved < count && ferror_unlocked(stream)) describe_failure(event, errno);
    recording.publish();
  }
  return moved;
}

/// A call that moves text through a stream: `bytes_of(result)` says how much, and is negative if the call failed.
template <typename Result>
IO_ONCE Result stream_text_call(uint16_t call, FILE *stream, FunctionRef<Result()> real, FunctionRef<ssize_t(Result)> bytes_of) {
  Admission admission = admit();
  if (admission == Admission::kPass) return real();
  if (admission == Admission::kCount) {
    auto result = real();
    ssize_t moved = bytes_of(result);
    if (moved > 0) count_early_bytes(static_cast<uint64_t>(moved));
    return result;
  }
  int fd = descriptor_of(stream);
  uint32_t file = fd < 0 ? kExcludedFile : file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  auto result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    ssize_t moved = bytes_of(result);
    if (moved < 0) describe_failure(event, errno);
    else event->bytes = static_cast<uint64_t>(moved);
    recording.publish();
  }
  return result;
}

/// For functions whose result does not tell the end of a file from an error.
inline ssize_t nothing_read_from(FILE *stream) { return ferror_unlocked(stream) ? -1 : 0; }

/// How much one call of the scanf family took from a stream: its result is the number of items. Exact unless the call
/// went through more than one buffer of the stream.
class ScannedBytes {
 public:
  explicit ScannedBytes(const FILE *stream) : stream_(stream), at_(stream->_IO_read_ptr), end_(stream->_IO_read_end) {}
  ssize_t count() const {
    const char *at = stream_->_IO_read_ptr;
    // In the same buffer, or in the next one.
    if (stream_->_IO_read_end == end_ && at >= at_) return at - at_;
    return (end_ - at_) + (at - stream_->_IO_read_base);
  }

 private:
  const FILE *stream_;
  const char *at_, *end_;
};

template <typename Call, typename Measure>
auto stream_text_call(uint16_t call, FILE *stream, Call real, Measure bytes_of) -> ResultOf<Call> {
  return stream_text_call<ResultOf<Call>>(call, stream, FunctionRef<ResultOf<Call>()>(real), FunctionRef<ssize_t(ResultOf<Call>)>(bytes_of));
}

IO_ONCE int stream_scan_call(uint16_t call, FILE *stream, FunctionRef<int()> real) {
  if (!io_is_enabled) return real();
  ScannedBytes scanned(stream);
  return stream_text_call(call, stream, real, [&](int result) {
    ssize_t bytes = scanned.count();
    return result < 0 && bytes == 0 ? nothing_read_from(stream) : bytes;
  });
}

/// fflush; NULL: all streams.
IO_ONCE int stream_flush_call(uint16_t call, FILE *stream, FunctionRef<int()> real) {
  if (stream == nullptr) return plain_call(call, real);
  if (!is_following()) return real();
  int fd = descriptor_of(stream);
  return fd < 0 ? real() : descriptor_status_call(call, fd, kNoOffset, real);
}

/// ftello(), keeping errno. Of a stream that was just positioned it costs no system call.
int64_t position_of(FILE *stream);

/// fseek and its kin: 0 is success.
IO_ONCE int stream_seek_call(uint16_t call, FILE *stream, FunctionRef<int()> real) {
  if (admit() != Admission::kRecord) return real();
  int fd = descriptor_of(stream);
  uint32_t file = fd < 0 ? kExcludedFile : file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  int result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    if (result != 0) describe_failure(event, errno);
    else event->offset = position_of(stream);
    recording.publish();
  }
  return result;
}

}  // namespace slurmscope
