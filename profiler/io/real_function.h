// The function that a wrapper stands in front of: the next one of exactly that name.
//
// Used by every wrapper in io_wrappers.cc. Looked up on the first call, because wrappers run before any
// constructor of ours. The look-up takes no lock of ours and does not allocate when it succeeds; should
// the allocator under it call back into a wrapper, the wrapper gets a plain system call instead of a
// second look-up. The same happens to a signal handler that interrupts the look-up.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace slurmscope {

/// The symbol version of the oldest libc of this machine type.
#if defined(__x86_64__)
constexpr const char kOldestLibcVersion[] = "GLIBC_2.2.5";
#elif defined(__aarch64__)
constexpr const char kOldestLibcVersion[] = "GLIBC_2.17";
#else
#error "say which symbol version the oldest libc of this machine type has"
#endif

/// A text as a template's argument.
template <size_t size> struct Name {
  char text[size];
  constexpr Name(const char (&from)[size]) : text() {
    for (size_t i = 0; i < size; i++) text[i] = from[i];
  }
};

/// Address of the next `name` behind this object, or NULL if there is none; `*is_busy` is set to true if
/// this thread is already inside a look-up. Keeps errno.
void *find_next_function(const char *name, bool *is_busy);

/// A function type without its noexcept, so that one pointer type serves all.
template <typename Function> struct PlainFunction;
template <typename R, typename... A> struct PlainFunction<R(A...)> { using Type = R(A...); };
template <typename R, typename... A> struct PlainFunction<R(A...) noexcept> { using Type = R(A...); };
template <typename R, typename... A> struct PlainFunction<R(A..., ...)> { using Type = R(A..., ...); };
template <typename R, typename... A> struct PlainFunction<R(A..., ...) noexcept> { using Type = R(A..., ...); };

// What stands in while the real function is being looked up, and for a function that libc lacks.
namespace fallback {

/// The system call `number`, for functions with the same arguments in the same order.
template <long number, typename R, typename... A> R system_call(A... arguments) {
  return static_cast<R>(syscall(number, arguments...));
}
/// Fails with ENOSYS; `failure` is what the function returns on errors.
template <auto failure, typename R, typename... A> R missing(A...) {
  errno = ENOSYS;
  return R(failure);
}
inline int open_at_directory(int directory, const char *path, int flags, int mode) {
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}
inline int open_variadic(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = __OPEN_NEEDS_MODE(flags) ? va_arg(arguments, int) : 0;
  va_end(arguments);
  return open_at_directory(AT_FDCWD, path, flags, mode);
}
inline int openat_variadic(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = __OPEN_NEEDS_MODE(flags) ? va_arg(arguments, int) : 0;
  va_end(arguments);
  return open_at_directory(directory, path, flags, mode);
}
inline int open_fortified(const char *path, int flags) { return open_at_directory(AT_FDCWD, path, flags, 0); }
inline void *map_memory(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, length, protection, flags, fd, offset));
}
inline int fcntl_variadic(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}
inline int prctl_variadic(int option, ...) {
  va_list arguments;
  va_start(arguments, option);
  unsigned long words[4];
  for (unsigned long &word : words) word = va_arg(arguments, unsigned long);
  va_end(arguments);
  return static_cast<int>(syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]));
}

}  // namespace fallback

/// The address of `name`, or what is in `*found`; sets `*found` unless this thread is inside a look-up. Never NULL.
void *find_real_function(void **found, const char *name, void *fallback);

/// One per wrapper, zero at first: usable before any constructor has run, and nothing that the loader must write to.
template <typename Function, Name name, typename PlainFunction<Function>::Type *fallback> class RealFunction {
 public:
  using Pointer = typename PlainFunction<Function>::Type *;
  /// Never NULL.
  Pointer get() {
    void *found = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    if (__builtin_expect(found == nullptr, 0)) found = find_real_function(&found_, name.text, reinterpret_cast<void *>(fallback));
    return reinterpret_cast<Pointer>(found);
  }
  /// The same without looking it up: what stands in, until get() has been called.
  Pointer known() {
    void *found = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    return __builtin_expect(found != nullptr, 1) ? reinterpret_cast<Pointer>(found) : fallback;
  }

 private:
  void *found_ = nullptr;
};

}  // namespace slurmscope
