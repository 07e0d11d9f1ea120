// Shapes of io_calls.def, continued (see io_shapes.h): calls that are followed, not recorded (io_following.h).
#pragma once

#include "profiler/io/io_following.h"
#include "profiler/io/io_shapes.h"

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

// ---- new descriptors and streams, and the end of those that libc closes itself
#define IO_NEW_SHAPE(name, follow, parameters, arguments, exception)                               \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name parameters exception {                                                        \
    return follow([=] { return real_##name.get() arguments; });                                    \
  }
#define IO_SHAPE_NewTemporary(name) IO_NEW_SHAPE(name, new_file_call, (char *path), (path), )
#define IO_SHAPE_NewTemporaryNumber(name) IO_NEW_SHAPE(name, new_file_call, (char *path, int number), (path, number), )
#define IO_SHAPE_NewTemporaryNumbers(name)                                                         \
  IO_NEW_SHAPE(name, new_file_call, (char *path, int suffix, int flags), (path, suffix, flags), )
#define IO_SHAPE_NewMemory(name)                                                                   \
  IO_NEW_SHAPE(name, new_file_call, (const char *label, unsigned flags), (label, flags), __THROW)
#define IO_SHAPE_NewShared(name)                                                                   \
  IO_NEW_SHAPE(name, new_file_call, (const char *path, int flags, mode_t mode), (path, flags, mode), )
#define IO_SHAPE_NewEvent(name)                                                                    \
  IO_NEW_SHAPE(name, new_descriptor_call, (unsigned value, int flags), (value, flags), __THROW)
#define IO_SHAPE_NewNumber(name) IO_NEW_SHAPE(name, new_descriptor_call, (int number), (number), __THROW)
#define IO_SHAPE_NewTimer(name)                                                                    \
  IO_NEW_SHAPE(name, new_descriptor_call, (clockid_t clock, int flags), (clock, flags), __THROW)
#define IO_SHAPE_NewTemporaryStream(name)                                                          \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(void) {                                                                     \
    return new_stream_call([=] { return real_##name.get()(); });                                   \
  }
#define IO_SHAPE_NewPipeStream(name)                                                               \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(const char *command, const char *mode) {                                    \
    return new_stream_call([=] { return real_##name.get()(command, mode); });                      \
  }
#define IO_SHAPE_EndStream(name)                                                                   \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream) {                                                               \
    return end_stream_call(stream, [=] { return real_##name.get()(stream); });                     \
  }
// Standard input, output and error become another file.
#define IO_SHAPE_Daemon(name)                                                                      \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int stays, int keeps_open) __THROW {                                          \
    int result = real_##name.get()(stays, keeps_open);                                             \
    if (result == 0 && keeps_open == 0 && is_followed()) forget_descriptors(0, 2);                 \
    return result;                                                                                 \
  }

// ---- no descriptors, but what may be done at all
// prctl takes up to four more words; libc, too, passes on all of them.
#define IO_SHAPE_Restrict(name)                                                                    \
  IO_REAL(name, slurmscope::fallback::prctl_variadic)                                              \
  IO_EXPORT int name(int option, ...) __THROW {                                                    \
    unsigned long words[4];                                                                        \
    va_list arguments;                                                                             \
    va_start(arguments, option);                                                                   \
    for (unsigned long &word : words) word = va_arg(arguments, unsigned long);                     \
    va_end(arguments);                                                                             \
    auto restrict = [&] { return real_##name.get()(option, words[0], words[1], words[2], words[3]); }; \
    /* A filter is often installed by a bare system call, but without privileges not before PR_SET_NO_NEW_PRIVS. */ \
    bool is_last_wish = option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS;                 \
    return is_last_wish ? sealing_call(restrict) : restrict();                                     \
  }
