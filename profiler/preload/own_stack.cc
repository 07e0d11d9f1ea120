// See own_stack.h. pthread_getattr_np() allocates; so: the kernel's main stack, or the mapping below the
// thread pointer, which glibc keeps at the top of each stack that it gives to a thread.
#include "profiler/preload/own_stack.h"

#include "profiler/preload/raw_syscall.h"

extern "C" void *__libc_stack_end;  // of the dynamic linker: where main's stack begins

namespace slurmscope {
namespace {

// The kernel maps nothing else this close below the top of the main stack (its gap is 128 MiB or more).
constexpr uint64_t kMainStackReach = 100 * 1024 * 1024;

/// Reads /proc/self/maps, a number at a time.
class MapsReader {
 public:
  MapsReader() : fd_(raw::open("/proc/self/maps", O_RDONLY)) {}
  ~MapsReader() {
    if (fd_ >= 0) raw::close(fd_);
  }
  MapsReader(const MapsReader &) = delete;
  MapsReader &operator=(const MapsReader &) = delete;
  /// The next mapping; false at the end.
  bool next(uint64_t *start, uint64_t *end) {
    if (!number('-', start) || !number(' ', end)) return false;
    for (int c = get(); c != '\n'; c = get())
      if (c < 0) return false;
    return true;
  }

 private:
  int get() {
    if (at_ == size_) {
      long done = fd_ >= 0 ? raw::read(fd_, buffer_, sizeof buffer_) : 0;
      if (done <= 0) return -1;
      at_ = 0;
      size_ = static_cast<size_t>(done);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  bool number(int terminator, uint64_t *value) {
    *value = 0;
    for (int c = get(); c != terminator; c = get()) {
      if (c >= '0' && c <= '9') *value = *value << 4 | static_cast<uint64_t>(c - '0');
      else if (c >= 'a' && c <= 'f') *value = *value << 4 | static_cast<uint64_t>(c - 'a' + 10);
      else return false;
    }
    return true;
  }

  int fd_;
  size_t at_ = 0, size_ = 0;
  char buffer_[1024];
};

}  // namespace

OwnStack find_own_stack() {
  if (raw::gettid() == raw::getpid()) {
    uint64_t top = reinterpret_cast<uint64_t>(__libc_stack_end);
    return {top - kMainStackReach, top};
  }
  uint64_t thread = reinterpret_cast<uint64_t>(__builtin_thread_pointer()), start, end;
  MapsReader maps;
  while (maps.next(&start, &end))
    if (thread >= start && thread < end) return {start, thread};
  return {0, 0};
}

}  // namespace slurmscope
