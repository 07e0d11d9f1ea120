// System calls that bypass libc: no errno, no interposed function, no cancellation point.
//
// Used by the preload for everything it does to files, so that none of it is recorded, cancelled or
// visible to the application. Each returns what the kernel returns: -errno on failure.
// Any thread, any signal handler; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace slurmscope::raw {

#if defined(__x86_64__)
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#else
#error "one raw system call per instruction set"
#endif

inline long address(const void *pointer) { return reinterpret_cast<long>(pointer); }

inline int open(const char *path, int flags, int mode = 0) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, address(path), flags | O_CLOEXEC, mode));
}
inline int close(int fd) { return static_cast<int>(call(SYS_close, fd)); }
inline long read(int fd, void *buffer, size_t size) {
  return call(SYS_read, fd, address(buffer), static_cast<long>(size));
}
inline long write(int fd, const void *buffer, size_t size) {
  return call(SYS_write, fd, address(buffer), static_cast<long>(size));
}
inline int unlink(const char *path) { return static_cast<int>(call(SYS_unlink, address(path))); }
inline int fchmod(int fd, int mode) { return static_cast<int>(call(SYS_fchmod, fd, mode)); }
inline int fstat(int fd, struct stat *status) { return static_cast<int>(call(SYS_fstat, fd, address(status))); }
inline int stat(const char *path, struct stat *status) {
  return static_cast<int>(call(SYS_stat, address(path), address(status)));
}
inline int ftruncate(int fd, size_t size) {
  return static_cast<int>(call(SYS_ftruncate, fd, static_cast<long>(size)));
}
/// Reserves the blocks: a later store into the mapping cannot raise SIGBUS for want of space.
inline int reserve(int fd, size_t size) {
  return static_cast<int>(call(SYS_fallocate, fd, 0, 0, static_cast<long>(size)));
}
inline long readlink(const char *path, char *buffer, size_t size) {
  return call(SYS_readlink, address(path), address(buffer), static_cast<long>(size));
}
inline int statx(const char *path, int flags, unsigned mask, struct statx *facts) {
  return static_cast<int>(call(SYS_statx, AT_FDCWD, address(path), flags, mask, address(facts)));
}
inline bool socket_option(int fd, int option, int *value) {
  socklen_t size = sizeof *value;
  return call(SYS_getsockopt, fd, SOL_SOCKET, option, address(value), address(&size)) == 0;
}
/// The size of the address; 0: it has no peer.
inline size_t peer_of_socket(int fd, void *peer, size_t room) {
  socklen_t size = static_cast<socklen_t>(room);
  return call(SYS_getpeername, fd, address(peer), address(&size)) == 0 && size <= room ? size : 0;
}
inline bool exists(const char *path) { return call(SYS_faccessat, AT_FDCWD, address(path), F_OK) == 0; }
inline long getcwd(char *buffer, size_t size) {
  return call(SYS_getcwd, address(buffer), static_cast<long>(size));
}
/// NULL on failure.
inline void *map(size_t size, int protection, int flags, int fd) {
  long result = call(SYS_mmap, 0, static_cast<long>(size), protection, flags, fd, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void *>(result);
}
inline void *map_memory(size_t size) {
  return map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}
inline void unmap(void *memory, size_t size) { call(SYS_munmap, address(memory), static_cast<long>(size)); }
/// False: the kernel is older than 4.14.
inline bool wipe_on_fork(void *memory, size_t size) {
  return call(SYS_madvise, address(memory), static_cast<long>(size), 18 /* MADV_WIPEONFORK */) == 0;
}
/// Takes mlockall()'s lock from a mapping: locked memory is the application's to use.
inline void unlock(void *memory, size_t size) { call(SYS_munlock, address(memory), static_cast<long>(size)); }
/// A touched entry of a sparse table then costs one small page.
inline void avoid_huge_pages(void *memory, size_t size) {
  call(SYS_madvise, address(memory), static_cast<long>(size), MADV_NOHUGEPAGE);
}
inline uint32_t getpid() { return static_cast<uint32_t>(call(SYS_getpid)); }
inline uint32_t getppid() { return static_cast<uint32_t>(call(SYS_getppid)); }
inline uint32_t gettid() { return static_cast<uint32_t>(call(SYS_gettid)); }
/// CLOCK_MONOTONIC, not through the vDSO.
inline uint64_t monotonic_ns() {
  timespec now = {0, 0};
  call(SYS_clock_gettime, CLOCK_MONOTONIC, address(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}
inline void sleep_ns(long ns) {
  timespec time = {0, ns};
  call(SYS_nanosleep, address(&time), 0);
}
inline void yield() { call(SYS_sched_yield); }
inline void futex_wake(void *word) { call(SYS_futex, address(word), FUTEX_WAKE, 1); }
/// A soft limit of this process; the largest number: none.
inline uint64_t limit_of(int resource) {
  uint64_t limit[2] = {0, 0};
  if (call(SYS_prlimit64, 0, resource, 0, address(limit)) != 0) return 0;
  return limit[0];
}
inline int fstatfs(int fd, struct statfs *status) { return static_cast<int>(call(SYS_fstatfs, fd, address(status))); }

}  // namespace slurmscope::raw
