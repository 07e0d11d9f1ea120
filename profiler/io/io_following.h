// The I/O engine, continued (io_engine.h): calls that are not recorded, but make, copy or end descriptors.
//
// The rule that keeps files apart: the table knows nothing of a number that is free. So each call that ends
// a descriptor is followed, also those that close it inside libc (pclose). Those that make one are
// followed as well, in case it was closed by a bare system call. Same threading and signal rules.
#pragma once

#include "profiler/io/io_streams.h"
#include "profiler/preload/runtime_threads.h"

namespace slurmscope {

/// What a new socket or pipe means: one that MPI makes inside a call, or in a thread of its own, is its own business,
/// whoever uses it later.
inline uint32_t file_of_new_descriptor() { return is_nested() || is_runtime_thread() ? kExcludedFile : kNoFile; }

/// A call that returns a new descriptor of something that has no path.
template <typename Call> int new_descriptor_call(Call real) {
  int fd = real();
  if (fd >= 0 && is_followed()) set_descriptor(fd, file_of_new_descriptor());
  return fd;
}

/// A call that opens a file whose name it makes up itself, or none.
template <typename Call> int new_file_call(Call real) {
  int fd = real();
  if (fd >= 0 && is_followed()) set_descriptor(fd, kNoFile);
  return fd;
}

/// A call that returns a new stream of such a file, or of a pipe.
template <typename Call> FILE *new_stream_call(Call real) {
  reach_safe_point();
  FILE *stream = real();
  if (stream != nullptr && is_followed()) set_descriptor(descriptor_of(stream), kNoFile);
  return stream;
}

/// A call that ends a stream; NULL is for libc to judge.
template <typename Call> int end_stream_call(FILE *stream, Call real) {
  if (stream != nullptr && is_followed()) set_descriptor(descriptor_of(stream), kNoFile);
  return real();
}

/// A call that makes two of them.
template <typename Call> int new_pair_call(const int *pair, Call real) {
  int result = real();
  if (result == 0 && is_followed()) {
    set_descriptor(pair[0], file_of_new_descriptor());
    set_descriptor(pair[1], file_of_new_descriptor());
  }
  return result;
}

template <typename Call> int duplicate_call(int fd, Call real) {
  int copy = real();
  if (copy >= 0 && copy != fd && is_followed()) copy_descriptor(fd, copy);
  return copy;
}

/// A call after which this thread can do nothing but read, write and end.
template <typename Call> int sealing_call(Call real) {
  seal_thread();
  int result = real();
  if (result != 0) thread_local_state()->is_sealed = 0;
  return result;
}

}  // namespace slurmscope
