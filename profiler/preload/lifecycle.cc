// Birth and death of the preload in a process, of threads, and of the sampler.
//
// The constructor reads two variables and makes no file, no thread, no handler. The destructor (exit
// handlers) marks the end and stops the sampler: no MPI call, no stdio. A thread's end gives its ring
// back. Errno is left as it was.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "profiler/io/io_recording.h"
#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"
#include "profiler/preload/resolve.h"

namespace slurmscope {
namespace {

// Destructors of other keys may still do I/O: retire in the last of the rounds that pthreads makes.
constexpr uint32_t kDestructorRounds = 4;  // PTHREAD_DESTRUCTOR_ITERATIONS

void end_thread(void *value) {
  auto *recorder = static_cast<ThreadRecorder *>(value);
  ThreadLocal *self = thread_local_state();
  if (self->recorder != recorder || !recorder->is_active) return;
  uint32_t round = (self->state & 0xff) + 1;
  self->state = (self->state & ~uint32_t{0xff}) | round;
  if (round < kDestructorRounds) {
    pthread_setspecific(library_state.thread_key, value);
    return;
  }
  Hidden hidden;
  if (process_state.sampling) library_state.sampler->stop_thread();
  retire_thread(recorder);
}

// Only where the kernel cannot wipe pages: the child of a fork forgets its parent's files.
void forget_after_fork() {
  memset(static_cast<void *>(&process_state), 0, sizeof(process_state));
  if (ThreadRecorder *recorder = thread_local_state()->recorder) memset(static_cast<void *>(recorder), 0, sizeof(*recorder));
}

void read_variables() {
  LibraryState &library = library_state;
  const char *spool = getenv("SLURMSCOPE_SPOOL"), *settings = getenv("SLURMSCOPE");
  library.verbose = getenv("SLURMSCOPE_VERBOSE") != nullptr;
  library.settings = Settings();
  if (!parse_settings(settings, &library.settings, library.bad_settings, sizeof(library.bad_settings)))
    log_trouble("understand SLURMSCOPE:", library.bad_settings, 0);
  size_t size = spool != nullptr ? strnlen(spool, sizeof(library.spool)) : 0;
  if (size == 0 || size == sizeof(library.spool) || spool[0] != '/') return;
  memcpy(library.spool, spool, size + 1);
  library.enabled = library.settings.mode != Mode::kOff;
}

__attribute__((constructor)) void begin() {
  int saved = errno;
  const Settings &settings = library_state.settings;
  if (load_library_state() && !is_skipped_executable(settings.skip))
    io_recording_enable(settings, library_state.spool);
  resolve_libc();
  find_mapping_functions();
  errno = saved;
}

__attribute__((destructor)) void end() {
  ProcessFile *file = process_state.file;
  if (file == nullptr) return;
  int saved = errno;
  Hidden hidden;
  if (process_state.sampling) library_state.sampler->stop_process();
  else if (wants_samples() && process_state.sampler_tried.load() == 0)
    note("counters and call stacks were asked for, but this process made no call at which they can be started (MPI, fopen, opendir, popen)");
  // Those of other threads, which may still run, the drainer takes when the process is gone.
  if (ThreadRecorder *recorder = thread_local_state()->recorder) close_polls(recorder);
  file->exited.store(1, std::memory_order_release);
  errno = saved;
}

uint64_t ticks_for_sampler() { return now_ticks(); }

const SamplerHost sampler_host = {kRingVersion, &library_state.settings, ticks_for_sampler, push_sample,
                                  define, note, can_unwind, unwind_stack};

}  // namespace

bool load_library_state() {
  LibraryState &library = library_state;
  uint32_t loaded = library.loaded.load(std::memory_order_acquire);
  if (loaded == 2) return library.enabled;
  // Before main there is one thread. Should a library have started another one that early: it passes.
  if (loaded == 1 || !library.loaded.compare_exchange_strong(loaded, 1)) return false;
  read_variables();
  if (library.enabled) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    library.load_ticks_monotonic = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
    library.load_ticks_tsc = __rdtsc();
    library.page_is_wiped = raw::wipe_on_fork(&process_state, sizeof(process_state));
    if (!library.page_is_wiped) pthread_atfork(nullptr, nullptr, forget_after_fork);
    // This early the key is one of the first 32, for which glibc needs no memory in each thread.
    library.has_thread_key = pthread_key_create(&library.thread_key, end_thread) == 0;
  }
  library.loaded.store(2, std::memory_order_release);
  return library.enabled;
}

void seal_thread() {
  if (process_state.sampling) library_state.sampler->stop_thread();
  thread_local_state()->is_sealed = 1;
}

namespace {

/// Loads the module, unless it was loaded before the fork that made this process. False: there is none.
bool load_sampler() {
  if (library_state.sampler != nullptr) {
    library_state.sampler->forget();
    return true;
  }
  char path[4096];
  void *module = path_beside_us("slurmscope-sampler.so", path, sizeof(path)) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  auto *sampler = module != nullptr ? static_cast<const SamplerModule *>(dlsym(module, "slurmscope_sampler")) : nullptr;
  if (sampler == nullptr || sampler->version != kRingVersion) {
    log_trouble("load", path, 0);
    note("counters and call stacks were asked for, but slurmscope-sampler.so could not be loaded");
    return false;
  }
  library_state.sampler = sampler;
  return true;
}

}  // namespace

bool wants_samples() { return library_state.settings.sample != 0 || library_state.settings.counters[0] != 0; }

void start_sampling() {
  ThreadRecorder *recorder = thread_local_state()->recorder;
  if (!wants_samples() || recorder == nullptr || !recorder->is_active) return;
  auto *page = reinterpret_cast<ThreadPage *>(recorder);
  if (page->is_sampled) return;
  Hidden hidden;
  int saved = errno;
  uint32_t untried = 0;
  if (process_state.sampler_tried.compare_exchange_strong(untried, 1))
    process_state.sampling = load_sampler() && library_state.sampler->start_process(&sampler_host);
  if (process_state.sampling) {
    page->is_sampled = 1;
    library_state.sampler->start_thread();
  }
  errno = saved;
}

}  // namespace slurmscope
