// Birth and death of the preload in a process, of threads, and of the sampler.
//
// The constructor keeps two variables and makes no file, no thread, no handler. The destructor (exit
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
    pthread_setspecific(start_state.thread_key, value);
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

/// Fills library_state, whose settings have their defaults from the start: a copy of them would be too large for the
/// stack of some signal handlers.
void understand(const char *settings) {
  LibraryState &library = library_state;
  if (!parse_settings(settings, &library.settings, library.bad_settings, sizeof(library.bad_settings)))
    log_trouble("understand SLURMSCOPE:", library.bad_settings, 0);
  Wanted wanted = wanted_parts(library.settings.skip);
  library.enabled = library.settings.mode != Mode::kOff && wanted.process;
  library.records_io = library.enabled && wanted.io;
  if (library.records_io) io_recording_prepare(library.settings, start_state.spool);
  library.loaded.store(2, std::memory_order_release);
}

/// The rest of `entry` if it is "NAME=..." for `name` = "NAME=". Calls nothing: see StartState.
AT_START inline const char *value_of(const char *entry, const char *name) {
  while (*name != 0 && *entry == *name) entry++, name++;
  return *name == 0 ? entry : nullptr;
}

/// False if `text`, with its end, is longer than `size`.
AT_START inline bool keep_text(const char *text, char *to, size_t size) {
  for (size_t i = 0; i < size; i++)
    if ((to[i] = text[i]) == 0) return true;
  return false;
}

AT_START void read_variables() {
  StartState &start = start_state;
  const char *spool = nullptr, *settings = nullptr;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; entry++) {
    if ((*entry)[0] != 'S' || (*entry)[1] != 'L') continue;
    if (const char *value = value_of(*entry, "SLURMSCOPE_SPOOL=")) spool = value;
    else if (const char *value = value_of(*entry, "SLURMSCOPE=")) settings = value;
    else if (value_of(*entry, "SLURMSCOPE_VERBOSE=")) start.verbose = true;
  }
  if (spool == nullptr || spool[0] != '/' || !keep_text(spool, start.spool, sizeof(start.spool))) return;
  start.has_spool = true;
  if (settings != nullptr && !keep_text(settings, start.settings, sizeof(start.settings))) {
    start.settings[0] = 0;
    understand(settings);
  }
}

/// True if the settings leave the thresholds of I/O as they are: "summary", "trace,sample=99".
AT_START bool has_usual_thresholds(const char *settings) {
  for (const char *at = settings; *at != 0; at++)
    if (value_of(at, "io_")) return false;
  return true;
}

AT_START __attribute__((constructor)) void begin() {
  int saved = errno;
  if (read_start_state()) {
    // Else that comes when the process is about to be recorded.
    if (has_usual_thresholds(start_state.settings) || load_library_state()) io_recording_enable();
  }
  resolve_libc();
  find_mapping_functions();
  errno = saved;
}

AT_START __attribute__((destructor)) void end() {
  if (!start_state.has_attached) return;
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

AT_START bool read_start_state() {
  StartState &start = start_state;
  uint32_t started = start.started.load(std::memory_order_acquire);
  if (started == 2) return start.has_spool;
  // Before main there is one thread. Should a library have started another one that early: it passes.
  if (started == 1 || !start.started.compare_exchange_strong(started, 1)) return false;
  read_variables();
  if (start.has_spool) {
    start.load_ticks_monotonic = raw::monotonic_ns();
    start.load_ticks_tsc = __rdtsc();
    start.page_is_wiped = raw::wipe_on_fork(&process_state, sizeof(process_state));
    if (!start.page_is_wiped) pthread_atfork(nullptr, nullptr, forget_after_fork);
    // This early the key is one of the first 32, for which glibc needs no memory in each thread.
    start.has_thread_key = pthread_key_create(&start.thread_key, end_thread) == 0;
  }
  start.started.store(2, std::memory_order_release);
  return start.has_spool;
}

bool load_library_state() {
  if (!read_start_state()) return false;
  LibraryState &library = library_state;
  uint32_t loaded = library.loaded.load(std::memory_order_acquire);
  if (loaded == 2) return library.enabled;
  // Whoever comes meanwhile passes, as if the process were recorded a moment later.
  if (loaded == 1 || !library.loaded.compare_exchange_strong(loaded, 1)) return false;
  understand(start_state.settings);
  return library.enabled;
}

bool await_library_state() {
  for (int i = 0; i < 1000 && library_state.loaded.load(std::memory_order_acquire) == 1; i++) raw::yield();
  return load_library_state();
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
