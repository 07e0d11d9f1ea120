// The I/O engine, continued (io_engine.h): sockets. Their file is the peer that they talk to.
//
// A socket that is made inside an MPI call, or by a thread that MPI started for itself (runtime_threads.h), is MPI's own
// for as long as it lives, and so is what is accepted from it: excluded, whoever uses it. MPI's traffic shows as
// messages, not twice. Same threading and signal rules; addresses are read only after the kernel has read or written
// them.
#pragma once

#include <sys/socket.h>

#include "profiler/io/io_following.h"

namespace slurmscope {

/// An address as the application has it; `data` may be NULL.
struct PeerAddress {
  const void *data;
  size_t size;
};

/// The file that a message through `fd` counts for: the peer that the socket is connected to, else that of the address.
inline uint32_t file_of_message(int fd, uint32_t file, FunctionRef<PeerAddress()> address) {
  if (file == kExcludedFile || has_peer(file)) return file;
  PeerAddress peer = address();
  return peer.data != nullptr && peer.size != 0 ? file_of_peer(fd, file, peer.data, peer.size) : file;
}

/// A call that sends or receives: `bytes_of(result)` and `address()` are asked after it succeeded.
template <typename Result>
IO_ONCE Result message_call(uint16_t call, int fd, FunctionRef<Result()> real, FunctionRef<size_t(Result)> bytes_of,
                            FunctionRef<PeerAddress()> address) {
  Admission admission = admit();
  if (admission == Admission::kPass) return real();
  if (admission == Admission::kCount) {
    auto result = real();
    if (result > 0) count_early_bytes(static_cast<uint64_t>(bytes_of(result)));
    return result;
  }
  uint32_t file = file_of_descriptor(fd);
  if (file == kExcludedFile) return real();
  Recording recording(call, kGuardOfIo);
  auto result = real();
  int error = errno;
  if (Event *event = recording.finish()) {
    if (result >= 0) file = file_of_message(fd, file, address);
    if (file != kExcludedFile) {
      event->object = file_id(file);
      event->peer = fd;
      if (result < 0) describe_failure(event, error);
      else event->bytes = static_cast<uint64_t>(bytes_of(result));
      recording.publish();
    }
  }
  errno = error;
  return result;
}

template <typename Call, typename Measure, typename Address>
auto message_call(uint16_t call, int fd, Call real, Measure bytes_of, Address address) -> ResultOf<Call> {
  using Result = ResultOf<Call>;
  return message_call<Result>(call, fd, FunctionRef<Result()>(real), FunctionRef<size_t(Result)>(bytes_of),
                              FunctionRef<PeerAddress()>(address));
}

/// True if a connect() that failed got as far as asking the peer, or is on its way.
inline bool peer_was_asked(int error) {
  return error == EINPROGRESS || error == ECONNREFUSED || error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

IO_ONCE int connect_call(uint16_t call, int fd, const void *address, size_t size, FunctionRef<int()> real) {
  bool is_recorded = admit() == Admission::kRecord;
  uint32_t before = is_following() ? known_file_of_descriptor(fd) : kNoFile;
  if (!is_recorded || before == kExcludedFile) {
    int result = real();
    if (before != kExcludedFile && before != kNoFile && is_followed() && !is_nested()) set_descriptor(fd, kNoFile);
    return result;
  }
  Recording recording(call, kGuardOfIo);
  int result = real();
  int error = errno;
  Event *event = recording.finish();
  uint32_t file = kNoFile;
  if (result == 0 || peer_was_asked(error)) file = file_of_peer(fd, before, address, size);
  if (result == 0 || error == EINPROGRESS) set_descriptor(fd, has_peer(file) || file == kExcludedFile ? file : kNoFile);
  if (event != nullptr && file != kExcludedFile) {
    event->object = file_id(file);
    event->peer = fd;
    if (result != 0) describe_failure(event, error);
    recording.publish();
  }
  errno = error;
  return result;
}

/// accept: the peer is asked for at once, while it is there.
IO_ONCE int accept_call(uint16_t call, int fd, FunctionRef<int()> real) {
  bool is_recorded = admit() == Admission::kRecord;
  uint32_t listening = is_following() ? known_file_of_descriptor(fd) : kNoFile;
  if (!is_recorded || listening == kExcludedFile) {
    int accepted = real();
    if (accepted >= 0 && is_followed()) set_descriptor(accepted, listening == kExcludedFile ? kExcludedFile : file_of_new_descriptor());
    return accepted;
  }
  Recording recording(call, kGuardOfIo);
  int accepted = real();
  int error = errno;
  Event *event = recording.finish();
  uint32_t file = kNoFile;
  if (accepted >= 0) {
    set_descriptor(accepted, kNoFile);
    file = file_of_descriptor(accepted);
  }
  if (event != nullptr && file != kExcludedFile) {
    event->object = file_id(file);
    event->peer = accepted >= 0 ? accepted : fd;
    if (accepted < 0) describe_failure(event, error);
    recording.publish();
  }
  errno = error;
  return accepted;
}

/// What sendmmsg and recvmmsg have moved.
inline size_t bytes_of_messages(const mmsghdr *messages, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += messages[i].msg_len;
  return bytes;
}

}  // namespace slurmscope
