// Shapes of io_calls.def, continued (see io_shapes.h): transfers, mappings, asynchronous requests, directories
// (io_transfers.h), and calls on two paths or on a path below a directory.
#pragma once

#include "profiler/io/io_shapes.h"
#include "profiler/io/io_transfers.h"

// ---- from one descriptor to another
#define IO_SHAPE_SendFile(name, call)                                                              \
  IO_REAL_SYSTEM_CALL(name, SYS_sendfile)                                                          \
  IO_EXPORT ssize_t name(int to, int from, off64_t *offset, size_t size) __THROW {                 \
    return transfer_call({from, offset, kCall_##call##_source, kCall_##call##_source},             \
                         {to, nullptr, kCall_##call, kCall_##call##_socket},                       \
                         [=] { return real_##name.get()(to, from, offset, size); });               \
  }
#define IO_COPY_SHAPE(name, call, to_socket, from_socket)                                          \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT ssize_t name(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags) { \
    return transfer_call({from, from_offset, kCall_##call##_source, from_socket}, {to, to_offset, kCall_##call, to_socket}, \
                         [=] { return real_##name.get()(from, from_offset, to, to_offset, size, flags); }); \
  }
#define IO_SHAPE_CopyRange(name, call) IO_COPY_SHAPE(name, call, kCall_##call, kCall_##call##_source)
#define IO_SHAPE_Splice(name, call) IO_COPY_SHAPE(name, call, kCall_##call##_socket, kCall_##call##_source_socket)

// ---- mappings
#define IO_SHAPE_Map(name, call)                                                                   \
  IO_REAL(name, slurmscope::fallback::map_memory)                                                  \
  IO_EXPORT void *name(void *address, size_t length, int protection, int flags, int fd, off64_t offset) __THROW { \
    auto real = real_##name.known();                                                               \
    if ((flags & MAP_ANONYMOUS) != 0 || fd < 0) return real(address, length, protection, flags, fd, offset); \
    return map_call(kCall_##call, fd, length, offset,                                              \
                    [=] { return real(address, length, protection, flags, fd, offset); });         \
  }
#define IO_SHAPE_SyncMap(name, call)                                                               \
  IO_REAL_SYSTEM_CALL(name, SYS_msync)                                                             \
  IO_EXPORT int name(void *address, size_t length, int flags) {                                    \
    return plain_call(kCall_##call, [=] { return real_##name.get()(address, length, flags); });    \
  }

// ---- asynchronous requests, by the type of their control block
#define IO_REQUEST_SHAPE(name, call, type)                                                         \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(struct type *request) __THROW {                                               \
    return request_call(kCall_##call, request, [=] { return real_##name.get()(request); });        \
  }
#define IO_SHAPE_Request(name, call) IO_REQUEST_SHAPE(name, call, aiocb)
#define IO_SHAPE_Request64(name, call) IO_REQUEST_SHAPE(name, call, aiocb64)
#define IO_REQUEST_SYNC_SHAPE(name, call, type)                                                    \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(int operation, struct type *request) __THROW {                                \
    return request_call(kCall_##call, request, [=] { return real_##name.get()(operation, request); }); \
  }
#define IO_SHAPE_RequestSync(name, call) IO_REQUEST_SYNC_SHAPE(name, call, aiocb)
#define IO_SHAPE_RequestSync64(name, call) IO_REQUEST_SYNC_SHAPE(name, call, aiocb64)
#define IO_REQUEST_WAIT_SHAPE(name, call, type)                                                    \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const struct type *const list[], int count, const struct timespec *timeout) { \
    return plain_call(kCall_##call, [=] { return real_##name.get()(list, count, timeout); });      \
  }
#define IO_SHAPE_RequestWait(name, call) IO_REQUEST_WAIT_SHAPE(name, call, aiocb)
#define IO_SHAPE_RequestWait64(name, call) IO_REQUEST_WAIT_SHAPE(name, call, aiocb64)
#define IO_REQUEST_END_SHAPE(name, call, type)                                                     \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT ssize_t name(struct type *request) __THROW {                                           \
    return request_end_call(kCall_##call, kCall_##call##_write, kCall_##call##_sync, request,      \
                            [=] { return real_##name.get()(request); });                           \
  }
#define IO_SHAPE_RequestEnd(name, call) IO_REQUEST_END_SHAPE(name, call, aiocb)
#define IO_SHAPE_RequestEnd64(name, call) IO_REQUEST_END_SHAPE(name, call, aiocb64)

// ---- directories
#define IO_SHAPE_DirectoryOpen(name, call)                                                         \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT DIR *name(const char *path) {                                                          \
    return object_open_call(kCall_##call, path, ::dirfd, [=] { return real_##name.get()(path); }); \
  }
#define IO_DIRECTORY_READ_SHAPE(name, call, type)                                                  \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT struct type *name(DIR *directory) {                                                    \
    return directory_read_call(kCall_##call, directory, static_cast<struct type *>(nullptr),       \
                               [=] { return real_##name.get()(directory); });                      \
  }
#define IO_SHAPE_DirectoryRead(name, call) IO_DIRECTORY_READ_SHAPE(name, call, dirent)
#define IO_SHAPE_DirectoryRead64(name, call) IO_DIRECTORY_READ_SHAPE(name, call, dirent64)
#define IO_SHAPE_DirectoryClose(name, call)                                                        \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(DIR *directory) {                                                             \
    return directory_close_call(kCall_##call, directory, [=] { return real_##name.get()(directory); }); \
  }

// ---- space, permissions
#define IO_SHAPE_DescriptorPlain(name, call)                                                       \
  IO_REAL_SYSTEM_CALL(name, SYS_##call)                                                            \
  IO_EXPORT int name(int fd) __THROW {                                                             \
    return descriptor_status_call(kCall_##call, fd, kNoOffset, [=] { return real_##name.get()(fd); }); \
  }
#define IO_SHAPE_SyncRange(name, call)                                                             \
  IO_REAL_SYSTEM_CALL(name, SYS_sync_file_range)                                                   \
  IO_EXPORT int name(int fd, off64_t offset, off64_t size, unsigned flags) {                       \
    return descriptor_status_call(kCall_##call, fd, offset,                                        \
                                  [=] { return real_##name.get()(fd, offset, size, flags); });     \
  }
#define IO_SHAPE_Allocate(name, call)                                                              \
  IO_REAL_SYSTEM_CALL(name, SYS_fallocate)                                                         \
  IO_EXPORT int name(int fd, int mode, off64_t offset, off64_t size) {                             \
    return descriptor_status_call(kCall_##call, fd, offset,                                        \
                                  [=] { return real_##name.get()(fd, mode, offset, size); });      \
  }
#define IO_SHAPE_AllocatePosix(name, call)                                                         \
  IO_REAL(name, (slurmscope::fallback::missing<ENOSYS>))                                           \
  IO_EXPORT int name(int fd, off64_t offset, off64_t size) {                                       \
    return error_number_call(kCall_##call, fd, offset,                                             \
                             [=] { return real_##name.get()(fd, offset, size); });                 \
  }
#define IO_SHAPE_DescriptorMode(name, call)                                                        \
  IO_REAL_SYSTEM_CALL(name, SYS_##call)                                                            \
  IO_EXPORT int name(int fd, mode_t mode) __THROW {                                                \
    return descriptor_status_call(kCall_##call, fd, kNoOffset, [=] { return real_##name.get()(fd, mode); }); \
  }

// ---- calls on a path below a directory, and on two paths
#define IO_PATH_AT_SHAPE(name, call, parameters, arguments)                                        \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name parameters __THROW {                                                          \
    return path_call(kCall_##call, directory, path, [=] { return real_##name.get() arguments; });  \
  }
#define IO_SHAPE_PathAtMode(name, call)                                                            \
  IO_PATH_AT_SHAPE(name, call, (int directory, const char *path, mode_t mode), (directory, path, mode))
#define IO_SHAPE_PathAtModeNumber(name, call)                                                      \
  IO_PATH_AT_SHAPE(name, call, (int directory, const char *path, mode_t mode, int flags), (directory, path, mode, flags))
#define IO_SHAPE_PathAtNumbers(name, call)                                                         \
  IO_PATH_AT_SHAPE(name, call, (int directory, const char *path, int mode, int flags), (directory, path, mode, flags))
#define IO_SHAPE_TwoPathsAt(name, call)                                                            \
  IO_PATH_AT_SHAPE(name, call, (int directory, const char *path, int to_directory, const char *to), \
                   (directory, path, to_directory, to))
// The flags of linkat are an int, those of renameat2 unsigned.
template <typename Function> struct FlagsOf;
template <typename Flags> struct FlagsOf<int(int, const char *, int, const char *, Flags)> { using Type = Flags; };
#define IO_SHAPE_TwoPathsAtFlags(name, call)                                                       \
  IO_PATH_AT_SHAPE(name, call,                                                                     \
                   (int directory, const char *path, int to_directory, const char *to,             \
                    FlagsOf<slurmscope::PlainFunction<decltype(::name)>::Type>::Type flags),       \
                   (directory, path, to_directory, to, flags))
#define IO_SHAPE_TextPath(name, call)                                                              \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *text, const char *path) __THROW {                                 \
    return path_call(kCall_##call, AT_FDCWD, path, [=] { return real_##name.get()(text, path); }); \
  }
#define IO_SHAPE_TextPathAt(name, call)                                                            \
  IO_PATH_AT_SHAPE(name, call, (const char *text, int directory, const char *path), (text, directory, path))
