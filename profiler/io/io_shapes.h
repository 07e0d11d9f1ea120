// One macro per shape of arguments in io_calls.def: the wrapper of a function with these arguments.
//
// Included by io_wrappers.cc only. IO_SHAPE_<shape>(name, recorded_as, fallback...) defines
//   real_<name>   a RealFunction whose type is taken from the libc header by decltype, and
//   <name>        the exported wrapper; the compiler checks its signature against the header.
#pragma once

#define IO_EXPORT extern "C" __attribute__((visibility("default")))

/// The real function of `name`; `stand_in` does its work while it is being looked up (real_function.h).
#define IO_REAL(name, stand_in) static slurmscope::RealFunction<decltype(::name), #name, stand_in> real_##name;
/// For functions that no allocator calls while it starts.
#define IO_REAL_OR_FAIL(name) IO_REAL(name, (slurmscope::fallback::missing<-1>))
#define IO_REAL_SYSTEM_CALL(name, number) IO_REAL(name, (slurmscope::fallback::system_call<number>))

// ---- opening and closing
#define IO_SHAPE_Open(name, call)                                                                  \
  IO_REAL(name, slurmscope::fallback::open_variadic)                                               \
  IO_EXPORT int name(const char *path, int flags, ...) {                                           \
    mode_t mode = 0;                                                                               \
    IO_TAKE_MODE(mode, flags)                                                                      \
    return open_call(kCall_##call, AT_FDCWD, path, flags,                                          \
                     [=] { return real_##name.get()(path, flags, mode); });                        \
  }
#define IO_SHAPE_OpenAt(name, call)                                                                \
  IO_REAL(name, slurmscope::fallback::openat_variadic)                                             \
  IO_EXPORT int name(int directory, const char *path, int flags, ...) {                            \
    mode_t mode = 0;                                                                               \
    IO_TAKE_MODE(mode, flags)                                                                      \
    return open_call(kCall_##call, directory, path, flags,                                         \
                     [=] { return real_##name.get()(directory, path, flags, mode); });             \
  }
// Reads the variadic mode exactly when libc does: also for O_TMPFILE, not for O_DIRECTORY alone.
#define IO_TAKE_MODE(mode, flags)                                                                  \
  if (__OPEN_NEEDS_MODE(flags)) {                                                                  \
    va_list arguments;                                                                             \
    va_start(arguments, flags);                                                                    \
    mode = va_arg(arguments, mode_t);                                                              \
    va_end(arguments);                                                                             \
  }
#define IO_SHAPE_OpenFortified(name, call)                                                         \
  IO_REAL(name, slurmscope::fallback::open_fortified)                                              \
  IO_EXPORT int name(const char *path, int flags) {                                                \
    return open_call(kCall_##call, AT_FDCWD, path, flags, [=] { return real_##name.get()(path, flags); }); \
  }
#define IO_SHAPE_OpenAtFortified(name, call)                                                       \
  IO_REAL_SYSTEM_CALL(name, SYS_openat)                                                            \
  IO_EXPORT int name(int directory, const char *path, int flags) {                                 \
    return open_call(kCall_##call, directory, path, flags,                                         \
                     [=] { return real_##name.get()(directory, path, flags); });                   \
  }
#define IO_SHAPE_Create(name, call)                                                                \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *path, mode_t mode) {                                              \
    return open_call(kCall_##call, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC,                   \
                     [=] { return real_##name.get()(path, mode); });                               \
  }
#define IO_SHAPE_Close(name, call)                                                                 \
  IO_REAL_SYSTEM_CALL(name, SYS_close)                                                             \
  IO_EXPORT int name(int fd) {                                                                     \
    return close_call(kCall_##call, fd, [=] { return real_##name.get()(fd); });                    \
  }

// ---- moving data
#define IO_SHAPE_Read(name, call)                                                                  \
  IO_REAL_SYSTEM_CALL(name, SYS_##call)                                                            \
  IO_EXPORT ssize_t name(int fd, void *buffer, size_t size) {                                      \
    return descriptor_call<true>(kCall_##call, fd, kNoOffset,                                      \
                                 [=] { return real_##name.get()(fd, buffer, size); }, kCall_##call##_socket); \
  }
#define IO_SHAPE_ReadFortified(name, call)                                                         \
  IO_REAL_SYSTEM_CALL(name, SYS_read)                                                              \
  IO_EXPORT ssize_t name(int fd, void *buffer, size_t size, size_t room) {                         \
    return descriptor_call<true>(kCall_##call, fd, kNoOffset,                                      \
                                 [=] { return real_##name.get()(fd, buffer, size, room); }, kCall_##call##_socket); \
  }
#define IO_SHAPE_ReadAt(name, call)                                                                \
  IO_REAL_SYSTEM_CALL(name, SYS_pread64)                                                           \
  IO_EXPORT ssize_t name(int fd, void *buffer, size_t size, off64_t offset) {                      \
    return descriptor_call<true>(kCall_##call, fd, offset,                                         \
                                 [=] { return real_##name.get()(fd, buffer, size, offset); });     \
  }
#define IO_SHAPE_ReadAtFortified(name, call)                                                       \
  IO_REAL_SYSTEM_CALL(name, SYS_pread64)                                                           \
  IO_EXPORT ssize_t name(int fd, void *buffer, size_t size, off64_t offset, size_t room) {         \
    return descriptor_call<true>(kCall_##call, fd, offset,                                         \
                                 [=] { return real_##name.get()(fd, buffer, size, offset, room); }); \
  }
#define IO_SHAPE_Write(name, call)                                                                 \
  IO_REAL_SYSTEM_CALL(name, SYS_write)                                                             \
  IO_EXPORT ssize_t name(int fd, const void *buffer, size_t size) {                                \
    return descriptor_call<true>(kCall_##call, fd, kNoOffset,                                      \
                                 [=] { return real_##name.get()(fd, buffer, size); }, kCall_##call##_socket); \
  }
#define IO_SHAPE_WriteAt(name, call)                                                               \
  IO_REAL_SYSTEM_CALL(name, SYS_pwrite64)                                                          \
  IO_EXPORT ssize_t name(int fd, const void *buffer, size_t size, off64_t offset) {                \
    return descriptor_call<true>(kCall_##call, fd, offset,                                         \
                                 [=] { return real_##name.get()(fd, buffer, size, offset); });     \
  }
#define IO_SHAPE_Vector(name, call)                                                                \
  IO_REAL_SYSTEM_CALL(name, SYS_##call)                                                            \
  IO_EXPORT ssize_t name(int fd, const struct iovec *parts, int count) {                           \
    return descriptor_call<true>(kCall_##call, fd, kNoOffset,                                      \
                                 [=] { return real_##name.get()(fd, parts, count); }, kCall_##call##_socket); \
  }
#define IO_SHAPE_VectorAt(name, call)                                                              \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT ssize_t name(int fd, const struct iovec *parts, int count, off64_t offset) {           \
    return descriptor_call<true>(kCall_##call, fd, offset,                                         \
                                 [=] { return real_##name.get()(fd, parts, count, offset); });     \
  }
#define IO_SHAPE_VectorAtFlags(name, call)                                                         \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT ssize_t name(int fd, const struct iovec *parts, int count, off64_t offset, int flags) { \
    return descriptor_call<true>(kCall_##call, fd, offset,                                         \
                                 [=] { return real_##name.get()(fd, parts, count, offset, flags); }); \
  }

// ---- other calls on a descriptor
#define IO_SHAPE_Seek(name, call)                                                                  \
  IO_REAL_SYSTEM_CALL(name, SYS_lseek)                                                             \
  IO_EXPORT off64_t name(int fd, off64_t offset, int whence) __THROW {                             \
    return seek_call(kCall_##call, fd, [=] { return real_##name.get()(fd, offset, whence); });     \
  }
#define IO_SHAPE_Descriptor(name, call)                                                            \
  IO_REAL_SYSTEM_CALL(name, SYS_##call)                                                            \
  IO_EXPORT int name(int fd) {                                                                     \
    return descriptor_status_call(kCall_##call, fd, kNoOffset, [=] { return real_##name.get()(fd); }); \
  }
#define IO_SHAPE_Truncate(name, call)                                                              \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int fd, off64_t length) __THROW {                                             \
    return descriptor_status_call(kCall_##call, fd, length,                                        \
                                  [=] { return real_##name.get()(fd, length); });                  \
  }

// ---- calls on a path; the stat family in its three generations
#define IO_STAT_SHAPE(name, call, status)                                                          \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *path, struct status *result) __THROW {                            \
    return path_call(kCall_##call, AT_FDCWD, path, [=] { return real_##name.get()(path, result); }); \
  }
#define IO_SHAPE_Stat(name, call) IO_STAT_SHAPE(name, call, stat)
#define IO_SHAPE_Stat64(name, call) IO_STAT_SHAPE(name, call, stat64)
#define IO_OLD_STAT_SHAPE(name, call, status)                                                      \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int version, const char *path, struct status *result) {                       \
    return path_call(kCall_##call, AT_FDCWD, path,                                                 \
                     [=] { return real_##name.get()(version, path, result); });                    \
  }
#define IO_SHAPE_OldStat(name, call) IO_OLD_STAT_SHAPE(name, call, stat)
#define IO_SHAPE_OldStat64(name, call) IO_OLD_STAT_SHAPE(name, call, stat64)
#define IO_STAT_DESCRIPTOR_SHAPE(name, call, status)                                               \
  IO_REAL_SYSTEM_CALL(name, SYS_fstat)                                                             \
  IO_EXPORT int name(int fd, struct status *result) __THROW {                                      \
    return descriptor_status_call(kCall_##call, fd, kNoOffset,                                     \
                                  [=] { return real_##name.get()(fd, result); });                  \
  }
#define IO_SHAPE_StatDescriptor(name, call) IO_STAT_DESCRIPTOR_SHAPE(name, call, stat)
#define IO_SHAPE_StatDescriptor64(name, call) IO_STAT_DESCRIPTOR_SHAPE(name, call, stat64)
#define IO_OLD_STAT_DESCRIPTOR_SHAPE(name, call, status)                                           \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int version, int fd, struct status *result) {                                 \
    return descriptor_status_call(kCall_##call, fd, kNoOffset,                                     \
                                  [=] { return real_##name.get()(version, fd, result); });         \
  }
#define IO_SHAPE_OldStatDescriptor(name, call) IO_OLD_STAT_DESCRIPTOR_SHAPE(name, call, stat)
#define IO_SHAPE_OldStatDescriptor64(name, call) IO_OLD_STAT_DESCRIPTOR_SHAPE(name, call, stat64)
#define IO_STAT_AT_SHAPE(name, call, status)                                                       \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int directory, const char *path, struct status *result, int flags) __THROW {  \
    return path_call(kCall_##call, directory, path,                                                \
                     [=] { return real_##name.get()(directory, path, result, flags); });           \
  }
#define IO_SHAPE_StatAt(name, call) IO_STAT_AT_SHAPE(name, call, stat)
#define IO_SHAPE_StatAt64(name, call) IO_STAT_AT_SHAPE(name, call, stat64)
#define IO_OLD_STAT_AT_SHAPE(name, call, status)                                                   \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int version, int directory, const char *path, struct status *result, int flags) { \
    return path_call(kCall_##call, directory, path,                                                \
                     [=] { return real_##name.get()(version, directory, path, result, flags); });  \
  }
#define IO_SHAPE_OldStatAt(name, call) IO_OLD_STAT_AT_SHAPE(name, call, stat)
#define IO_SHAPE_OldStatAt64(name, call) IO_OLD_STAT_AT_SHAPE(name, call, stat64)
#define IO_SHAPE_StatExtended(name, call)                                                          \
  IO_REAL_SYSTEM_CALL(name, SYS_statx)                                                             \
  IO_EXPORT int name(int directory, const char *path, int flags, unsigned mask, struct statx *result) __THROW { \
    return path_call(kCall_##call, directory, path,                                                \
                     [=] { return real_##name.get()(directory, path, flags, mask, result); });     \
  }
#define IO_SHAPE_Path(name, call)                                                                  \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *path) __THROW {                                                   \
    return path_call(kCall_##call, AT_FDCWD, path, [=] { return real_##name.get()(path); });       \
  }
#define IO_PATH_NUMBER_SHAPE(name, call, type)                                                     \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *path, type number) __THROW {                                      \
    return path_call(kCall_##call, AT_FDCWD, path, [=] { return real_##name.get()(path, number); }); \
  }
#define IO_SHAPE_PathNumber(name, call) IO_PATH_NUMBER_SHAPE(name, call, int)
#define IO_SHAPE_PathMode(name, call) IO_PATH_NUMBER_SHAPE(name, call, mode_t)
#define IO_SHAPE_PathLength(name, call) IO_PATH_NUMBER_SHAPE(name, call, off64_t)
#define IO_SHAPE_PathAtNumber(name, call)                                                          \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int directory, const char *path, int number) __THROW {                        \
    return path_call(kCall_##call, directory, path,                                                \
                     [=] { return real_##name.get()(directory, path, number); });                  \
  }
#define IO_SHAPE_TwoPaths(name, call)                                                              \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *from, const char *to) __THROW {                                   \
    return path_call(kCall_##call, AT_FDCWD, from, [=] { return real_##name.get()(from, to); });   \
  }
