// The I/O engine, continued (io_engine.h): data that moves without a buffer of the application's: between two
// descriptors, into a mapping, by a request that is completed later. Directories as well.
//
// Same threading and signal rules. What the application points to is read only after libc or the kernel has read it.
#pragma once

#include <aio.h>
#include <dirent.h>

#include "profiler/io/io_engine.h"

namespace slurmscope {

/// A call that moves bytes from one descriptor to another: one event for what it writes, with the time, and one for
/// what it reads, without. `offsets` that are not NULL have been moved forward by a call that succeeded.
struct TransferEnd {
  int fd;
  const off64_t *offset;
  uint16_t file_call, socket_call;
  uint32_t file = kNoFile;
  uint16_t call() const { return is_socket(file) ? socket_call : file_call; }
};
inline void describe_transfer(Event *event, const TransferEnd &end, ssize_t result) {
  event->object = file_id(end.file);
  event->peer = end.fd;
  if (result < 0) {
    describe_failure(event, errno);
    return;
  }
  event->bytes = static_cast<uint64_t>(result);
  if (end.offset != nullptr) event->offset = *end.offset - result;
}

IO_ONCE ssize_t transfer_call(TransferEnd source, TransferEnd target, FunctionRef<ssize_t()> real) {
  Admission admission = admit();
  if (admission == Admission::kPass) return real();
  if (admission == Admission::kCount) {
    ssize_t result = real();
    if (result > 0) count_early_bytes(static_cast<uint64_t>(result));
    return result;
  }
  source.file = file_of_descriptor(source.fd);
  target.file = file_of_descriptor(target.fd);
  bool has_source = source.file != kExcludedFile, has_target = target.file != kExcludedFile;
  if (!has_source && !has_target) return real();
  Recording recording(target.call(), kGuardOfIo);
  ssize_t result = real();
  Event *event = recording.finish();
  if (event != nullptr && has_target) {
    describe_transfer(event, target, result);
    recording.publish();
    if (!has_source || result < 0) return result;
    event = recording.another(EventKind::kCall);
    if (event != nullptr) event->start = event->end;  // the time is counted
  }
  if (event != nullptr) {
    event->call = source.call();
    describe_transfer(event, source, result);
    recording.publish();
  }
  return result;
}

/// A mapping of a file: what is recorded is that it was mapped, and how much of it. What is then read or written by
/// instructions cannot be seen.
IO_ONCE void *map_call(uint16_t call, int fd, size_t length, int64_t offset, FunctionRef<void *()> real) {
  if (admit() != Admission::kRecord) return real();
  uint32_t file = file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  void *result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    event->offset = offset;
    if (result == MAP_FAILED) describe_failure(event, errno);
    else event->bytes = length;
    recording.publish();
  }
  return result;
}

/// aio_read, aio_write, aio_fsync: the request is made. The bytes are counted when it is asked for its result.
template <typename Request, typename Call> int request_call(uint16_t call, const Request *request, Call real) {
  if (admit() != Admission::kRecord) return real();
  Recording recording(call, kGuardOfIo);
  int result = real();
  int error = errno;
  Event *event = recording.finish();
  // Of a request that was refused libc may not have read anything.
  uint32_t file = result == 0 ? file_of_descriptor(request->aio_fildes) : kNoFile;
  if (event != nullptr && file != kExcludedFile) {
    event->object = file_id(file);
    if (result == 0) event->peer = request->aio_fildes;
    else describe_failure(event, error);
    recording.publish();
  }
  errno = error;
  return result;
}

/// What an asynchronous request was, as libc remembers it in the application's control block.
inline uint16_t call_of_request(int operation, uint16_t read_call, uint16_t write_call, uint16_t sync_call) {
  constexpr int kWith64Bits = 128;  // of glibc
  operation &= ~kWith64Bits;
  return operation == LIO_READ ? read_call : operation == LIO_WRITE ? write_call : sync_call;
}

/// aio_return, which may be called once for each request: here it has moved what it says.
template <typename Request, typename Call>
ssize_t request_end_call(uint16_t read_call, uint16_t write_call, uint16_t sync_call, const Request *request, Call real) {
  Admission admission = admit();
  if (admission == Admission::kPass) return real();
  if (admission == Admission::kCount) {
    ssize_t result = real();
    if (result > 0) count_early_bytes(static_cast<uint64_t>(result));
    return result;
  }
  uint16_t call = call_of_request(request->aio_lio_opcode, read_call, write_call, sync_call);
  uint32_t file = file_of_descriptor(request->aio_fildes);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  ssize_t result = real();
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = request->aio_fildes;
    if (call != sync_call) event->offset = request->aio_offset;
    if (result < 0) describe_failure(event, errno);
    else if (call != sync_call) event->bytes = static_cast<uint64_t>(result);
    recording.publish();
  }
  return result;
}

/// readdir: NULL is the end, unless errno says otherwise; errno is as libc would leave it.
template <typename Entry, typename Call> Entry *directory_read_call(uint16_t call, DIR *directory, Entry *, Call real) {
  __asm__("" : "+r"(directory));  // the header's word that it is not NULL is the application's to keep
  if (directory == nullptr || admit() != Admission::kRecord) return real();
  int fd = dirfd(directory);
  uint32_t file = file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  int before = errno;
  errno = 0;
  Entry *entry = real();
  int error = errno;
  if (error == 0) errno = before;
  if (Event *event = recording.finish()) {
    event->object = file_id(file);
    event->peer = fd;
    if (entry == nullptr && error != 0) describe_failure(event, error);
    recording.publish();
  }
  return entry;
}

template <typename Call> int directory_close_call(uint16_t call, DIR *directory, Call real) {
  __asm__("" : "+r"(directory));
  if (directory == nullptr || !is_following()) return real();
  return close_call(call, dirfd(directory), real);
}

}  // namespace slurmscope
