// The exported I/O functions: io_calls.def expanded by io_shapes.h over io_engine.h.
//
// Linked into libslurmscope.so only. Everything that a wrapper does is in the engine; what its arguments
// are is in its shape; this file has the prototypes that no libc header shows.
#include <aio.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wignored-attributes"  // decltype(::open) drops nonnull and the like

#include "profiler/io/io_engine.h"
#include "profiler/io/io_follow_shapes.h"
#include "profiler/io/io_recording.h"
#include "profiler/io/io_socket_shapes.h"
#include "profiler/io/io_stream_shapes.h"
#include "profiler/io/io_transfer_shapes.h"
#include "profiler/io/real_function.h"

// libc exports these for fortified and for old programs; their prototypes come from its ABI lists.
extern "C" {
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off64_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat(int, int, struct stat *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
}

static_assert(sizeof(off_t) == sizeof(off64_t), "one shape serves both twins only where off_t has 64 bits");

using namespace slurmscope;

#define IO_CALL(name, call_class, shape) IO_SHAPE_##shape(name, name)
#define IO_ALIAS(name, recorded_as, shape) IO_SHAPE_##shape(name, recorded_as)
#define IO_FOLLOW(name, shape) IO_SHAPE_##shape(name)
#include "profiler/io/io_calls.def"

namespace slurmscope {

void find_mapping_functions() {
  real_mmap.get();
  real_mmap64.get();
}

}  // namespace slurmscope
