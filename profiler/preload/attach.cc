// Makes the files of a process and of its threads in the spool directory, when it is time to.
//
// Called by Recording through RecorderLink::attach_thread, at the entry of a call in a thread that has
// no ring: any MPI call, or an I/O call past the threshold. The latter may come from any signal handler: no
// lock, no allocation, no errno; counters and call stacks, which need all of these, start at an MPI call or
// at an I/O call that allocates by itself (attach_mpi_thread(), start_sampling()). No descriptor is kept:
// each file is opened, reserved, mapped and closed at once. Whatever fails, the call passes through.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "profiler/io/io_recording.h"
#include "profiler/preload/call_paths.h"
#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"
#include "profiler/preload/ring_plan.h"
#include "profiler/preload/runtime_threads.h"

namespace slurmscope {
namespace {

// ThreadLocal::state: bits 0-7 belong to the thread key's destructor (lifecycle.cc).
constexpr uint32_t kThreadEnded = 0x100;    // no more recording in this thread
constexpr uint32_t kThreadRefused = 0x200;  // no ring; the rest counts the calls since
constexpr uint32_t kRefusedStep = 0x400;
constexpr uint32_t kRetryAfter = 4096;      // calls without a ring before it is tried again

// About 10 ms: the frequency of the TSC is not known here.
constexpr uint64_t kPollsTicksTsc = 25'000'000, kPollsNs = 10'000'000;

class Path {
 public:
  Path() { add(start_state.spool); }
  Path &add(const char *text) {
    while (*text != 0 && used_ < sizeof(text_) - 1) text_[used_++] = *text++;
    text_[used_] = 0;
    return *this;
  }
  Path &add(uint32_t number) {
    char digits[12];
    size_t first = sizeof(digits) - 1;
    digits[first] = 0;
    do digits[--first] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return add(digits + first);
  }
  const char *text() const { return text_; }

 private:
  char text_[sizeof(StartState::spool) + 64];
  size_t used_ = 0;
};

// 0600 whatever the umask; never an existing file.
int create(const char *path) {
  int fd = raw::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, 0600);
  if (fd >= 0) raw::fchmod(fd, 0600);
  return fd;
}

// Blocks are reserved, so that a full file system shows here and not as SIGBUS at a store; the size
// limit is looked at first, because going beyond it raises SIGXFSZ.
int reserve(int fd, size_t size) {
  if (size > raw::limit_of(RLIMIT_FSIZE)) return -EFBIG;
  int result = raw::reserve(fd, size);
  if (result != 0) raw::ftruncate(fd, 0);
  return result;
}

void *map_file(int fd, size_t size, int extra_flags) {
  void *memory = raw::map(size, PROT_READ | PROT_WRITE, MAP_SHARED | extra_flags, fd);
  if (memory != nullptr) raw::unlock(memory, size);  // mlockall(MCL_FUTURE): not on the application's account
  return memory;
}

// A process that has no file has no other place to say so. It counts once, until it succeeds.
void count_refusal(int error) {
  if (process_state.drain.load(std::memory_order_relaxed) == nullptr) map_drain();
  DrainState *drain = process_state.drain.load(std::memory_order_acquire);
  if (drain == nullptr || process_state.is_refused) return;
  process_state.is_refused = 1;
  drain->refusal.store(static_cast<uint32_t>(error == 0 ? ENOMEM : -error));
  drain->refused.fetch_add(1);
}

void uncount_refusal() {
  if (process_state.is_refused) process_state.drain.load(std::memory_order_relaxed)->refused.fetch_sub(1);
  process_state.is_refused = 0;
}

ProcessFile *make_process_file(uint32_t *number) {
  for (uint32_t n = 0; n < 4096; n++) {
    Path path;
    path.add("/").add(kProcessFilePrefix).add(process_state.pid).add("-").add(n);
    int fd = create(path.text());
    if (fd == -EEXIST) continue;
    if (fd < 0) {
      log_trouble("make", path.text(), fd);
      count_refusal(fd);
      return nullptr;
    }
    int result = reserve(fd, sizeof(ProcessFile));
    void *memory = result == 0 ? map_file(fd, sizeof(ProcessFile), 0) : nullptr;
    raw::close(fd);
    if (memory == nullptr) {
      log_trouble("get memory for", path.text(), result);
      raw::unlink(path.text());
      count_refusal(result);
      return nullptr;
    }
    uncount_refusal();
    *number = n;
    return static_cast<ProcessFile *>(memory);
  }
  return nullptr;
}

bool map_ring(ThreadRecorder *recorder, uint32_t index, bool populate) {
  Path path;
  path.add("/").add(kRingFilePrefix).add(process_state.pid).add("-").add(process_state.number).add("-").add(index);
  int fd = create(path.text());
  if (fd < 0) {
    log_trouble("make", path.text(), fd);
    return false;
  }
  RingLayout layout = plan_ring(index);
  uint64_t budget = ring_budget(fd);
  while (layout.file_bytes > budget && shrink_ring(&layout)) {
  }
  // The smallest ring is taken even of scarce space, but not of none.
  int result = budget < layout.file_bytes / 8 ? -ENOSPC : reserve(fd, layout.file_bytes);
  while (result != 0 && shrink_ring(&layout)) result = reserve(fd, layout.file_bytes);
  void *memory = result == 0 ? map_file(fd, layout.file_bytes, populate ? MAP_POPULATE : 0) : nullptr;
  raw::close(fd);
  if (memory == nullptr) {
    log_trouble("get memory for", path.text(), result);
    raw::unlink(path.text());
    return false;
  }
  auto *file = static_cast<RingFile *>(memory);
  file->magic = kRingMagic;
  file->version = kRingVersion;
  file->event_offset = layout.event_offset;
  file->event_count = layout.event_count;
  file->definition_offset = layout.definition_offset;
  file->definition_bytes = layout.definition_bytes;
  file->sample_offset = layout.sample_offset;
  file->sample_bytes = layout.sample_bytes;
  file->pid = process_state.pid;
  file->index = index;
  auto *bytes = static_cast<uint8_t *>(memory);
  recorder->file = file;
  recorder->events = reinterpret_cast<Event *>(bytes + file->event_offset);
  recorder->event_mask = file->event_count - 1;
  recorder->head = 0;
  recorder->checkpoint = file->event_count / 2;
  recorder->definitions = bytes + file->definition_offset;
  recorder->samples = layout.sample_bytes != 0 ? bytes + file->sample_offset : nullptr;
  recorder->index = index;
  file->ready.store(1, std::memory_order_release);
  return true;
}

ThreadPage *take_retired_page() {
  for (ThreadPage *page = process_state.threads.load(std::memory_order_acquire); page != nullptr; page = page->next) {
    uint32_t free = 0;
    if (page->recorder.file != nullptr && page->in_use.compare_exchange_strong(free, 1, std::memory_order_acq_rel)) {
      page->recorder.file->retired.store(0, std::memory_order_release);
      return page;
    }
  }
  return nullptr;
}

ThreadPage *make_page(bool populate) {
  uint32_t index = process_state.rings.fetch_add(1, std::memory_order_relaxed);
  if (index >= library_state.settings.max_rings) {
    process_state.rings.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  void *memory = raw::map_memory(4096);
  if (memory == nullptr) return nullptr;
  raw::wipe_on_fork(memory, 4096);  // an older kernel: see forget_after_fork() in lifecycle.cc
  auto *page = static_cast<ThreadPage *>(memory);
  page->recorder.backend_cache = page->backend_cache;
  page->in_use.store(1, std::memory_order_relaxed);
  if (!map_ring(&page->recorder, index, populate)) {
    raw::unmap(memory, 4096);
    return nullptr;
  }
  ThreadPage *first = process_state.threads.load(std::memory_order_relaxed);
  do page->next = first;
  while (!process_state.threads.compare_exchange_weak(first, page, std::memory_order_acq_rel));
  return page;
}

void announce_thread() {
  uint32_t tid = raw::gettid();
  ThreadDefinition record = {{sizeof(record), DefinitionKind::kThread, 0}, now_ticks(), tid, tid == process_state.pid};
  define(&record.header);
  if (process_state.pending_note[0] != 0) {
    char text[sizeof(process_state.pending_note)];
    memcpy(text, process_state.pending_note, sizeof(text));
    process_state.pending_note[0] = 0;
    note(text);
  }
}

ThreadRecorder *refuse(ThreadLocal *self) {
  self->state = (self->state & 0xff) | kThreadRefused;
  count_loss(LossReason::kNoRing);
  return nullptr;
}

ThreadRecorder *make_thread(ThreadLocal *self, bool populate) {
  if (self->state & kThreadRefused) {
    if (self->state / kRefusedStep < kRetryAfter) {
      self->state += kRefusedStep;
      count_loss(LossReason::kNoRing);
      return nullptr;
    }
    self->state &= 0xff;
  }
  ThreadPage *page = take_retired_page();
  if (page == nullptr) page = make_page(populate);
  if (page == nullptr) return refuse(self);
  page->recorder.is_active = 1;
  page->recorder.polls_limit = process_state.recorder.uses_tsc ? kPollsTicksTsc : kPollsNs;
  self->recorder = &page->recorder;
  if (start_state.has_thread_key) pthread_setspecific(start_state.thread_key, &page->recorder);
  announce_thread();
  return self->recorder;
}

bool make_process() {
  ProcessState &process = process_state;
  process.pid = raw::getpid();
  process.recorder.uses_tsc = library_state.settings.tsc != 0 && has_usable_tsc();
  ProcessFile *file = make_process_file(&process.number);
  if (file == nullptr) return false;
  file->magic = kProcessMagic;
  file->version = kRingVersion;
  file->clock = process.recorder.uses_tsc ? ClockKind::kTsc : ClockKind::kMonotonic;
  file->load_ticks = process.recorder.uses_tsc ? start_state.load_ticks_tsc : start_state.load_ticks_monotonic;
  file->attach_ticks = now_ticks();
  file->early_io_calls.store(process.recorder.io_calls, std::memory_order_relaxed);
  file->early_io_bytes.store(process.recorder.io_bytes, std::memory_order_relaxed);
  describe_process(file);
  void *sites = raw::map_memory(kSiteSlots * sizeof(uint64_t));
  process.sites = static_cast<std::atomic<uint64_t> *>(sites);  // NULL: events without call sites
  if (process.drain.load(std::memory_order_relaxed) == nullptr) map_drain();
  process.file = file;
  file->ready.store(1, std::memory_order_release);
  process.recorder.is_active = 1;
  return true;
}

// With process_state.attach at kAttaching; sets it if the answer is no.
bool is_to_be_recorded() {
  bool is_wanted = load_library_state();
  if (library_state.loaded.load(std::memory_order_acquire) != 2) {  // another thread is at it, for its first MPI call
    process_state.attach.store(kDetached, std::memory_order_release);
    return false;
  }
  if (!library_state.records_io) io_recording_disable();
  if (is_wanted && (library_state.records_io || process_state.is_mpi)) return true;
  process_state.attach.store(is_wanted ? kDetached : kUnwanted, std::memory_order_release);
  return false;
}

// One thread attaches the process; others that come meanwhile do not wait, their calls are early ones. What
// failed for want of descriptors or space is tried again now and then.
bool attach_process() {
  uint32_t expected = kAttachFailed;
  if (process_state.attach.load(std::memory_order_relaxed) == kAttachFailed) {
    if (process_state.failed_calls.fetch_add(1, std::memory_order_relaxed) % kRetryAfter != kRetryAfter - 1) return false;
    process_state.attach.compare_exchange_strong(expected, kDetached);
  }
  expected = kDetached;
  if (!process_state.attach.compare_exchange_strong(expected, kAttaching)) return expected == kAttached;
  if (!is_to_be_recorded()) return false;
  start_state.has_attached = true;
  bool made = make_process();
  process_state.attach.store(made ? kAttached : kAttachFailed, std::memory_order_release);
  return made;
}

}  // namespace

ThreadRecorder *attach_thread() {
  if (!read_start_state()) return nullptr;
  ThreadLocal *self = thread_local_state();
  if (self->state & kThreadEnded) return nullptr;
  Hidden hidden;
  bool made_process = false;
  if (process_state.attach.load(std::memory_order_acquire) != kAttached) {
    if (!attach_process()) return nullptr;
    made_process = true;
  }
  ThreadRecorder *recorder = make_thread(self, made_process);
  if (made_process && recorder != nullptr) {
    if (library_state.bad_settings[0] != 0) note(library_state.bad_settings);
  }
  return recorder;
}

ThreadRecorder *attach_mpi_thread() {
  process_state.is_mpi = 1;
  thread_local_state()->owner = kOwnerApplication;
  ThreadRecorder *recorder = attach_thread();
  if (recorder != nullptr) start_sampling();
  return recorder;
}

void retire_thread(ThreadRecorder *recorder) {
  ThreadLocal *self = thread_local_state();
  close_polls(recorder);
  self->state |= kThreadEnded;
  self->recorder = nullptr;
  if (recorder->scratch != nullptr) raw::unmap(recorder->scratch, recorder->scratch_size);
  recorder->scratch = nullptr;
  forget_paths(recorder);
  recorder->scratch_size = 0;
  auto *page = reinterpret_cast<ThreadPage *>(recorder);
  page->is_sampled = 0;
  memset(page->backend_cache, 0, sizeof(page->backend_cache));
  recorder->is_active = 0;
  recorder->file->retired.store(1, std::memory_order_release);
  page->in_use.store(0, std::memory_order_release);
}

void map_drain() {
  Path path;
  path.add("/").add(kDrainFileName);
  int fd = raw::open(path.text(), O_RDWR | O_NOFOLLOW | O_NOCTTY);
  if (fd < 0) return;
  struct stat status;
  void *memory = nullptr;
  if (raw::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && static_cast<size_t>(status.st_size) >= sizeof(DrainState))
    memory = map_file(fd, sizeof(DrainState), 0);
  raw::close(fd);
  if (memory == nullptr) return;
  DrainState *none = nullptr;
  if (!process_state.drain.compare_exchange_strong(none, static_cast<DrainState *>(memory)))
    raw::unmap(memory, sizeof(DrainState));
}

}  // namespace slurmscope
