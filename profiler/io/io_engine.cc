// The slow half of the I/O engine; see io_engine.h.
#include "profiler/io/io_engine.h"

#include "profiler/io/io_streams.h"
#include "profiler/io/path_rules.h"
#include "profiler/io/io_recording.h"
#include "profiler/preload/recorder_state.h"
#include "profiler/preload/runtime_threads.h"

namespace slurmscope {

DATA_AT_START uint32_t io_is_enabled;

namespace {

uint64_t min_calls_to_attach = Settings().io_calls, min_bytes_to_attach = Settings().io_bytes;

/// Approximate on purpose: threads may lose each other's counts, which only delays the threshold.
void add_relaxed(uint64_t *counter, uint64_t amount) {
  __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
}

}  // namespace

void io_recording_enable() { __atomic_store_n(&io_is_enabled, 1, __ATOMIC_RELEASE); }
void io_recording_disable() { __atomic_store_n(&io_is_enabled, 0, __ATOMIC_RELEASE); }

void io_recording_prepare(const Settings &settings, const char *spool) {
  set_path_rules(settings.io_exclude, settings.io_include, spool);
  min_calls_to_attach = settings.io_calls;
  min_bytes_to_attach = settings.io_bytes;
}

void count_reentered() {
  if (recorder_link->process->is_active) recorder_link->count_loss(LossReason::kReentered);
}

void count_early_bytes(uint64_t bytes) { add_relaxed(&recorder_link->process->io_bytes, bytes); }

Admission admit_slowly() {
  ProcessRecorder *process = recorder_link->process;
  if (!process->is_active) {
    add_relaxed(&process->io_calls, 1);
    if (__atomic_load_n(&process->io_calls, __ATOMIC_RELAXED) <= min_calls_to_attach &&
        __atomic_load_n(&process->io_bytes, __ATOMIC_RELAXED) <= min_bytes_to_attach)
      return Admission::kCount;
  }
  if (thread_local_state()->is_sealed || is_runtime_thread()) return Admission::kPass;
  Hidden hidden;
  if (attach_thread() != nullptr) return Admission::kRecord;
  return process->is_active ? Admission::kPass : Admission::kCount;
}

void reach_safe_point() {
  if (is_following() && !is_nested()) start_sampling();
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
  if (stream == nullptr) return -1;
  int error = errno;
  int fd = fileno(stream);
  errno = error;
  return fd;
}

int64_t position_of(FILE *stream) {
  int error = errno;
  off64_t position = ftello64(stream);
  errno = error;
  return position;
}

}  // namespace slurmscope
