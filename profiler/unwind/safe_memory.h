// Reads this process's own memory without ever faulting.
//
// Called by the unwinder in a signal handler: what it follows may be garbage (a frame without unwind
// information, a library that another thread is unmapping), so the kernel does the copy and says how
// much of it exists. No locks, no allocation; changes errno (the handler saves it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>
#include <unistd.h>

namespace slurmscope {

/// Copies up to `size` bytes from `address`; returns how many could be read, from the first on.
inline size_t read_memory(pid_t self, uint64_t address, void *to, size_t size) {
  iovec local = {to, size};
  iovec remote = {reinterpret_cast<void *>(address), size};
  ssize_t done = process_vm_readv(self, &local, 1, &remote, 1, 0);
  return done < 0 ? 0 : static_cast<size_t>(done);
}

}  // namespace slurmscope
