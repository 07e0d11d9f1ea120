// The slow half of the I/O engine; see io_engine.h.
#include "profiler/io/io_engine.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/io/io_recording.h"

namespace slurmscope {

uint32_t io_is_enabled;

bool io_recording_enable(const char *spool) {
  if (!file_table_create(spool)) return false;
  __atomic_store_n(&io_is_enabled, 1, __ATOMIC_RELEASE);
  return true;
}

void io_recording_disable() { __atomic_store_n(&io_is_enabled, 0, __ATOMIC_RELAXED); }

bool is_vfork_child() {
  int error = errno;
  bool is_child = file_table_owner() != static_cast<int32_t>(syscall(SYS_getpid));
  errno = error;
  return is_child;
}

Admission admit_slowly(uint16_t call) {
  file_table_owner();  // a fork's child takes its copy of the table over
  Hidden hidden;
  if (recorder_link->attach_thread(call) == nullptr)
    return recorder_link->process->is_active ? Admission::kPass : Admission::kCount;
  file_table_follow();
  return Admission::kRecord;
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
