// Shapes of io_calls.def, continued (see io_shapes.h): C streams, and calls that are only followed.
#pragma once

#include "profiler/io/io_shapes.h"

// ---- streams; a look-up cannot stand in for them, and no allocator uses them while it starts
#define IO_SHAPE_StreamOpen(name, call)                                                            \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(const char *path, const char *mode) {                                       \
    return stream_open_call(kCall_##call, path, [=] { return real_##name.get()(path, mode); });    \
  }
#define IO_SHAPE_StreamClose(name, call)                                                           \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream) {                                                               \
    return stream_close_call(kCall_##call, stream, [=] { return real_##name.get()(stream); });     \
  }
#define IO_SHAPE_StreamRead(name, call)                                                            \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT size_t name(void *buffer, size_t size, size_t count, FILE *stream) {                   \
    return stream_call(kCall_##call, stream, size, count,                                          \
                       [=] { return real_##name.get()(buffer, size, count, stream); });            \
  }
#define IO_SHAPE_StreamReadFortified(name, call)                                                   \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT size_t name(void *buffer, size_t room, size_t size, size_t count, FILE *stream) {      \
    return stream_call(kCall_##call, stream, size, count,                                          \
                       [=] { return real_##name.get()(buffer, room, size, count, stream); });      \
  }
#define IO_SHAPE_StreamWrite(name, call)                                                           \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT size_t name(const void *buffer, size_t size, size_t count, FILE *stream) {             \
    return stream_call(kCall_##call, stream, size, count,                                          \
                       [=] { return real_##name.get()(buffer, size, count, stream); });            \
  }

// ---- followed, not recorded
#define IO_SHAPE_Duplicate(name)                                                                   \
  IO_REAL_SYSTEM_CALL(name, SYS_dup)                                                               \
  IO_EXPORT int name(int fd) __THROW {                                                             \
    return duplicate_call(fd, [=] { return real_##name.get()(fd); });                              \
  }
#define IO_SHAPE_DuplicateTo(name)                                                                 \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int fd, int copy) __THROW {                                                   \
    return duplicate_call(fd, [=] { return real_##name.get()(fd, copy); });                        \
  }
#define IO_SHAPE_DuplicateToFlags(name)                                                            \
  IO_REAL_SYSTEM_CALL(name, SYS_dup3)                                                              \
  IO_EXPORT int name(int fd, int copy, int flags) __THROW {                                        \
    return duplicate_call(fd, [=] { return real_##name.get()(fd, copy, flags); });                 \
  }
// fcntl takes an int, a long, a pointer or nothing; one pointer-sized argument carries all of them.
#define IO_SHAPE_Control(name)                                                                     \
  IO_REAL(name, slurmscope::fallback::fcntl_variadic)                                              \
  IO_EXPORT int name(int fd, int command, ...) {                                                   \
    va_list arguments;                                                                             \
    va_start(arguments, command);                                                                  \
    void *argument = va_arg(arguments, void *);                                                    \
    va_end(arguments);                                                                             \
    if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) return real_##name.get()(fd, command, argument); \
    return duplicate_call(fd, [=] { return real_##name.get()(fd, command, argument); });           \
  }
#define IO_SHAPE_CloseRange(name)                                                                  \
  IO_REAL_SYSTEM_CALL(name, SYS_close_range)                                                       \
  IO_EXPORT int name(unsigned first, unsigned last, int flags) __THROW {                           \
    if (!(flags & CLOSE_RANGE_CLOEXEC) && is_followed()) forget_descriptors(first, last);          \
    return real_##name.get()(first, last, flags);                                                  \
  }
#define IO_SHAPE_CloseFrom(name)                                                                   \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT void name(int first) __THROW {                                                         \
    if (is_followed()) forget_descriptors(first < 0 ? 0 : static_cast<unsigned>(first), ~0u);      \
    real_##name.get()(first);                                                                      \
  }
#define IO_SHAPE_NewSocket(name)                                                                   \
  IO_REAL_SYSTEM_CALL(name, SYS_socket)                                                            \
  IO_EXPORT int name(int domain, int type, int protocol) __THROW {                                 \
    return new_descriptor_call([=] { return real_##name.get()(domain, type, protocol); });         \
  }
#define IO_SHAPE_NewAccepted(name)                                                                 \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int fd, struct sockaddr *address, socklen_t *length) {                        \
    return new_descriptor_call([=] { return real_##name.get()(fd, address, length); });            \
  }
#define IO_SHAPE_NewAcceptedFlags(name)                                                            \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int fd, struct sockaddr *address, socklen_t *length, int flags) {             \
    return new_descriptor_call([=] { return real_##name.get()(fd, address, length, flags); });     \
  }
#define IO_SHAPE_NewSocketPair(name)                                                               \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int domain, int type, int protocol, int pair[2]) __THROW {                    \
    return new_pair_call(pair, [=] { return real_##name.get()(domain, type, protocol, pair); });   \
  }
#define IO_SHAPE_NewPipe(name)                                                                     \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int pair[2]) __THROW {                                                        \
    return new_pair_call(pair, [=] { return real_##name.get()(pair); });                           \
  }
#define IO_SHAPE_NewPipeFlags(name)                                                                \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int pair[2], int flags) __THROW {                                             \
    return new_pair_call(pair, [=] { return real_##name.get()(pair, flags); });                    \
  }
#define IO_SHAPE_Reopen(name)                                                                      \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(const char *path, const char *mode, FILE *stream) {                         \
    return reopen_call(stream, [=] { return real_##name.get()(path, mode, stream); });             \
  }
#define IO_SHAPE_CloseDirectory(name)                                                              \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(DIR *directory) {                                                             \
    if (is_followed()) set_descriptor(dirfd(directory), slurmscope::kNoFile);                      \
    return real_##name.get()(directory);                                                           \
  }
