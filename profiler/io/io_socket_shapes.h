// Shapes of io_calls.def, continued (see io_shapes.h): sockets (io_sockets.h).
#pragma once

#include "profiler/io/io_shapes.h"
#include "profiler/io/io_sockets.h"

// glibc declares addresses as transparent unions of pointers in C, as struct sockaddr in C++.
#define IO_SHAPE_Connect(name, call)                                                               \
  IO_REAL_SYSTEM_CALL(name, SYS_connect)                                                           \
  IO_EXPORT int name(int fd, const struct sockaddr *address, socklen_t size) {                     \
    return connect_call(kCall_##call, fd, address, size, [=] { return real_##name.get()(fd, address, size); }); \
  }
#define IO_SHAPE_Accept(name, call)                                                                \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int fd, struct sockaddr *address, socklen_t *size) {                          \
    return accept_call(kCall_##call, fd, [=] { return real_##name.get()(fd, address, size); });    \
  }
#define IO_SHAPE_AcceptFlags(name, call)                                                           \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int fd, struct sockaddr *address, socklen_t *size, int flags) {               \
    return accept_call(kCall_##call, fd, [=] { return real_##name.get()(fd, address, size, flags); }); \
  }

// ---- one message. What is only peeked at has not moved.
#define IO_MESSAGE_SHAPE(name, call, parameters, arguments, moved, ...)                            \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT ssize_t name parameters {                                                              \
    return message_call(kCall_##call, fd, [=] { return real_##name.get() arguments; },             \
                        [=](ssize_t result) -> size_t { return static_cast<size_t>(moved); }, [=] { return slurmscope::PeerAddress{__VA_ARGS__}; }); \
  }
#define IO_MOVED_UNLESS_PEEKED ((flags & MSG_PEEK) != 0 ? 0 : result)
#define IO_SHAPE_Send(name, call)                                                                  \
  IO_MESSAGE_SHAPE(name, call, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags), result, nullptr, 0)
#define IO_SHAPE_SendTo(name, call)                                                                \
  IO_MESSAGE_SHAPE(name, call,                                                                     \
                   (int fd, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length), \
                   (fd, data, size, flags, address, length), result, address, length)
#define IO_SHAPE_SendMessage(name, call)                                                           \
  IO_MESSAGE_SHAPE(name, call, (int fd, const struct msghdr *message, int flags), (fd, message, flags), result, \
                   message->msg_name, message->msg_namelen)
#define IO_SHAPE_Receive(name, call)                                                               \
  IO_MESSAGE_SHAPE(name, call, (int fd, void *data, size_t size, int flags), (fd, data, size, flags), \
                   IO_MOVED_UNLESS_PEEKED, nullptr, 0)
#define IO_SHAPE_ReceiveFortified(name, call)                                                      \
  IO_MESSAGE_SHAPE(name, call, (int fd, void *data, size_t size, size_t room, int flags), (fd, data, size, room, flags), \
                   IO_MOVED_UNLESS_PEEKED, nullptr, 0)
#define IO_SHAPE_ReceiveFrom(name, call)                                                           \
  IO_MESSAGE_SHAPE(name, call,                                                                     \
                   (int fd, void *data, size_t size, int flags, struct sockaddr *address, socklen_t *length), \
                   (fd, data, size, flags, address, length), IO_MOVED_UNLESS_PEEKED,               \
                   address, address != nullptr && length != nullptr ? *length : 0)
#define IO_SHAPE_ReceiveFromFortified(name, call)                                                  \
  IO_MESSAGE_SHAPE(name, call,                                                                     \
                   (int fd, void *data, size_t size, size_t room, int flags, struct sockaddr *address, socklen_t *length), \
                   (fd, data, size, room, flags, address, length), IO_MOVED_UNLESS_PEEKED,         \
                   address, address != nullptr && length != nullptr ? *length : 0)
#define IO_SHAPE_ReceiveMessage(name, call)                                                        \
  IO_MESSAGE_SHAPE(name, call, (int fd, struct msghdr *message, int flags), (fd, message, flags),  \
                   IO_MOVED_UNLESS_PEEKED, message->msg_name, message->msg_namelen)

// ---- several at once: counted as one call, for the peer of the first
#define IO_MESSAGES_SHAPE(name, call, parameters, arguments)                                       \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name parameters {                                                                  \
    return message_call(kCall_##call, fd, [=] { return real_##name.get() arguments; },             \
                        [=](int result) -> size_t { return (flags & MSG_PEEK) != 0 ? 0 : bytes_of_messages(messages, result); }, [=] { \
                          bool has_any = count != 0;                                               \
                          return slurmscope::PeerAddress{has_any ? messages[0].msg_hdr.msg_name : nullptr, \
                                                         has_any ? messages[0].msg_hdr.msg_namelen : 0}; \
                        });                                                                        \
  }
#define IO_SHAPE_SendMessages(name, call)                                                          \
  IO_MESSAGES_SHAPE(name, call, (int fd, struct mmsghdr *messages, unsigned count, int flags), (fd, messages, count, flags))
#define IO_SHAPE_ReceiveMessages(name, call)                                                       \
  IO_MESSAGES_SHAPE(name, call, (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout), \
                    (fd, messages, count, flags, timeout))
