// The slow half of the I/O engine; see io_engine.h.
#include "profiler/io/io_engine.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/io/io_recording.h"

namespace slurmscope {

uint32_t io_is_enabled;

namespace {

uint64_t min_calls_to_attach, min_bytes_to_attach;

/// Approximate on purpose: threads may lose each other's counts, which only delays the threshold.
void add_relaxed(uint64_t *counter, uint64_t amount) {
  __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
}

}  // namespace

bool io_recording_enable(uint64_t min_calls, uint64_t min_bytes, const char *spool) {
  if (!file_table_create(spool)) return false;
  min_calls_to_attach = min_calls;
  min_bytes_to_attach = min_bytes;
  __atomic_store_n(&io_is_enabled, 1, __ATOMIC_RELEASE);
  return true;
}

bool is_vfork_child() {
  int error = errno;
  bool is_child = file_table_owner() != static_cast<int32_t>(syscall(SYS_getpid));
  errno = error;
  return is_child;
}

void count_early_bytes(uint64_t bytes) { add_relaxed(&recorder_link->process->io_bytes, bytes); }

Admission admit_slowly() {
  ProcessRecorder *process = recorder_link->process;
  file_table_owner();  // a fork's child takes its copy of the table over
  if (!process->is_active) {
    add_relaxed(&process->io_calls, 1);
    if (__atomic_load_n(&process->io_calls, __ATOMIC_RELAXED) <= min_calls_to_attach &&
        __atomic_load_n(&process->io_bytes, __ATOMIC_RELAXED) <= min_bytes_to_attach)
      return Admission::kCount;
  }
  if (is_vfork_child()) return Admission::kPass;
  Hidden hidden;
  return recorder_link->attach_thread() != nullptr ? Admission::kRecord : Admission::kPass;
}

bool path_was_read(int error) {
  switch (error) {
    case ENOENT: case EEXIST: case ENOTDIR: case EISDIR: case ELOOP: case ENOTEMPTY: case EROFS:
    case EACCES: case EPERM: case EXDEV: case ETXTBSY: case ENOSPC: case EDQUOT:
      return true;
    default:
      return false;
  }
}

int descriptor_of(FILE *stream) {
  int error = errno;
  int fd = fileno(stream);
  errno = error;
  return fd;
}

}  // namespace slurmscope
