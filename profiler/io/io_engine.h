// The engine under the I/O wrappers: who is recorded, and what one call leaves in the ring.
//
// Each wrapper (io_shapes.h) hands its call over as a lambda. A call takes one of three ways:
//   pass    not enabled, nested in another wrapper, or nothing to record: just the real function;
//   count   the process is not recorded yet: two counters, towards the threshold;
//   record  one event, two clock reads.
// No argument is looked at that libc itself would not look at: fread() of nothing does not read its stream.
// Threading: no locks. Allocation: none. Signals: async-signal-safe, as read() and write() must be.
// errno: as the real function left it. Buffers are never touched; a path only after the kernel read it.
#pragma once

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/types.h>

#include "profiler/io/file_table.h"
#include "profiler/io/function_ref.h"
#include "profiler/preload/recorder.h"

namespace slurmscope {

enum class Admission { kPass, kCount, kRecord };

/// Non-zero once io_recording_enable() has run.
extern uint32_t io_is_enabled;

/// Decides for a thread without a ring: counts the call; past the threshold, attaches.
Admission admit_slowly();
/// Counts what a call moved before the process is recorded.
void count_early_bytes(uint64_t bytes);
/// Counts an I/O call made while another one of this thread is going on: by a signal handler, or by another
/// preloaded library behind us. It is not recorded.
void count_reentered();
/// In calls that allocate by themselves, so that they come from no signal handler and from under no lock of an
/// allocator: starts the counters and call stacks that are due.
void reach_safe_point();
/// True if a call that failed with `error` got as far as reading its path.
bool path_was_read(int error);

__attribute__((always_inline)) inline Admission admit() {
  if (!io_is_enabled) return Admission::kPass;
  ThreadLocal *self = thread_local_state();
  uintptr_t guard = self->guard;
  if (__builtin_expect(guard != 0, 0) && (own_frame() <= guard || recorder_link->guard_holds(self))) {
    if ((guard & kGuardOfIo) != 0) count_reentered();
    return Admission::kPass;
  }
  ThreadRecorder *recorder = self->recorder;
  if (__builtin_expect(recorder != nullptr && recorder->is_active, 1))
    return Admission::kRecord;
  return admit_slowly();
}

/// True if descriptors are followed: from the moment at which the process is recorded.
inline bool is_following() { return io_is_enabled && recorder_link->process->is_active; }
/// True if the descriptor table must be told of a change made by this process.
inline bool is_followed() { return is_following() && !is_vfork_child(); }

// One copy in the library, whoever calls it.
#define IO_ONCE __attribute__((noinline)) inline

constexpr int64_t kNoOffset = -1;

inline void describe_failure(Event *event, int error) {
  event->flags = kEventFailed;
  event->tag = error;
}

/// A call that moves data or changes a file through a descriptor; its result is a byte count if
/// `moves_bytes`, else 0 for success. On a socket it is recorded as `socket_call`, if there is one.
template <bool moves_bytes, typename Call>
auto descriptor_call(uint16_t call, int fd, int64_t offset, Call real, uint16_t socket_call = kCallNone) -> decltype(real()) {
  Admission admission = admit();
  if (admission == Admission::kPass) return real();
  if (admission == Admission::kCount) {
    auto result = real();
    if (moves_bytes && result > 0) count_early_bytes(static_cast<uint64_t>(result));
    return result;
  }
  uint32_t file = file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(socket_call != kCallNone && is_socket(file) ? socket_call : call, kGuardOfIo);
  auto result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    event->offset = offset;
    if (result < 0) describe_failure(event, errno);
    else if (moves_bytes) event->bytes = static_cast<uint64_t>(result);
    recording.publish();
  }
  return result;
}

/// The same for calls that move no bytes.
IO_ONCE int descriptor_status_call(uint16_t call, int fd, int64_t offset, FunctionRef<int()> real) {
  return descriptor_call<false>(call, fd, offset, real);
}

/// A call on a descriptor that returns an error number instead of setting errno.
IO_ONCE int error_number_call(uint16_t call, int fd, int64_t offset, FunctionRef<int()> real) {
  if (admit() != Admission::kRecord) return real();
  uint32_t file = file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  int result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    event->offset = offset;
    if (result != 0) describe_failure(event, result);
    recording.publish();
  }
  return result;
}

/// A call that has no descriptor and no path, or many; 0 is success.
IO_ONCE int plain_call(uint16_t call, FunctionRef<int()> real) {
  if (admit() != Admission::kRecord) return real();
  Recording recording(call, kGuardOfIo);
  int result = real();
  if (Event *event = recording.finish()) {
    if (result < 0) describe_failure(event, errno);
    recording.publish();
  }
  return result;
}

/// lseek: what counts is where it ended.
IO_ONCE off64_t seek_call(uint16_t call, int fd, FunctionRef<off64_t()> real) {
  if (admit() != Admission::kRecord) return real();
  uint32_t file = file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  off64_t result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    event->offset = result;
    if (result < 0) describe_failure(event, errno);
    recording.publish();
  }
  return result;
}

/// A call on the file at `path` (empty or NULL, where the call allows that: `directory` itself); 0 is
/// success. Failures do not give a file an id: a search along a list of
/// directories would fill the table with files that do not exist.
IO_ONCE int path_call(uint16_t call, int directory, const char *path, FunctionRef<int()> real) {
  if (admit() != Admission::kRecord) return real();
  Recording recording(call, kGuardOfIo);
  int result = real();
  int error = errno;
  if (Event *event = recording.finish()) {
    uint32_t file = kNoFile;
    if (result == 0 || path_was_read(error)) file = file_of_path(directory, path, result == 0);
    if (file != kExcludedFile) {
      event->object = file_id(file);
      if (result != 0) describe_failure(event, error);
      recording.publish();
    }
  }
  errno = error;
  return result;
}

/// Makes `fd` mean the file that open() just gave it.
inline uint32_t bind_opened(int fd, int directory, const char *path, int flags) {
  bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  uint32_t file = is_unnamed ? file_of_unnamed(directory, path) : file_of_path(directory, path, true);
  set_descriptor(fd, file);
  return file;
}

IO_ONCE int open_call(uint16_t call, int directory, const char *path, int flags, FunctionRef<int()> real) {
  if (admit() != Admission::kRecord) {
    int fd = real();
    if (fd >= 0 && is_followed()) set_descriptor(fd, kNoFile);
    return fd;
  }
  Recording recording(call, kGuardOfIo);
  int fd = real();
  int error = errno;
  Event *event = recording.finish();
  uint32_t file = kNoFile;
  if (fd >= 0) file = bind_opened(fd, directory, path, flags);
  else if (path_was_read(error)) file = file_of_path(directory, path, false);
  if (event != nullptr && file != kExcludedFile) {
    event->object = file_id(file);
    event->peer = fd;
    if (fd < 0) describe_failure(event, error);
    else if ((flags & O_DIRECT) != 0) event->flags = kEventDirect;
    recording.publish();
  }
  errno = error;
  return fd;
}

/// A call that opens what is at `path` and returns a stream or a directory, whose descriptor `descriptor` tells.
/// Allocates: see reach_safe_point().
template <typename Object, typename Call>
Object *object_open_call(uint16_t call, const char *path, int (*descriptor)(Object *), Call real) {
  reach_safe_point();
  if (admit() != Admission::kRecord) {
    Object *object = real();
    if (object != nullptr && is_followed()) set_descriptor(descriptor(object), kNoFile);
    return object;
  }
  Recording recording(call, kGuardOfIo);
  Object *object = real();
  int error = errno;
  Event *event = recording.finish();
  int fd = object != nullptr ? descriptor(object) : -1;
  uint32_t file = kNoFile;
  if (fd >= 0) file = bind_opened(fd, AT_FDCWD, path, 0);
  else if (object == nullptr && path_was_read(error)) file = file_of_path(AT_FDCWD, path, false);
  if (event != nullptr && file != kExcludedFile) {
    event->object = file_id(file);
    event->peer = fd;
    if (object == nullptr) describe_failure(event, error);
    recording.publish();
  }
  errno = error;
  return object;
}

/// close, fclose and closedir. The table forgets the number before the call: after it, another thread may already
/// have been given the same number.
IO_ONCE int close_call(uint16_t call, int fd, FunctionRef<int()> real) {
  Admission admission = admit();
  if (!is_followed()) return real();
  uint32_t file = known_file_of_descriptor(fd);
  set_descriptor(fd, kNoFile);
  if (admission != Admission::kRecord || file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  int result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    if (result != 0) describe_failure(event, errno);
    recording.publish();
  }
  return result;
}

}  // namespace slurmscope
