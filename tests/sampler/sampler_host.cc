// The preload's side of the sampler, for tests: put on a program with LD_PRELOAD, it starts the module
// SAMPLER_MODULE with the settings SLURMSCOPE in every thread and, at exit, writes what it was given to
// the file SAMPLER_RESULT, a line per record:
//   note TEXT | counter ID NAME | values TID IS_LAST VALUE... | stack TID TRUNCATED NAME...(innermost first)
// Built by tests/sampler/lib.sh. Records go into a fixed array, so pushing one is signal-safe.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "profiler/sampler/sampler_link.h"
#include "proto/version.h"

using namespace slurmscope;

namespace {

constexpr uint32_t kRecordCount = 65536;
constexpr uint32_t kRecordBytes = 1280;
struct Record {
  pid_t tid;
  alignas(8) char bytes[kRecordBytes];
};
Record *records;
std::atomic<uint32_t> record_count;
pid_t owner;
const SamplerModule *module;
Settings settings;

bool keep(const DefinitionHeader *record) {
  uint32_t index = record_count.fetch_add(1);
  if (index >= kRecordCount || record->size > kRecordBytes) return false;
  records[index].tid = gettid();
  memcpy(records[index].bytes, record, record->size);
  return true;
}

void note(const char *text) {
  struct {
    NoteDefinition head;
    char text[1024];
  } record = {};
  size_t size = strlen(text);
  record.head.header = {static_cast<uint32_t>((sizeof record.head + size + 8) & ~size_t{7}), DefinitionKind::kNote, 0};
  memcpy(record.text, text, size);
  keep(&record.head.header);
}

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

const SamplerHost host = {kRingVersion, &settings, now, keep, keep, note, can_unwind, unwind_stack};

void print_record(FILE *out, const Record &record) {
  const DefinitionHeader *header = reinterpret_cast<const DefinitionHeader *>(record.bytes);
  if (header->kind == DefinitionKind::kNote) {
    fprintf(out, "note %s\n", record.bytes + sizeof(NoteDefinition));
  } else if (header->kind == DefinitionKind::kCounter) {
    const CounterDefinition *counter = reinterpret_cast<const CounterDefinition *>(header);
    fprintf(out, "counter %u %.*s\n", counter->id, static_cast<int>(counter->name_size), record.bytes + sizeof *counter);
  } else if (header->kind == DefinitionKind::kCounterSample) {
    const CounterSample *sample = reinterpret_cast<const CounterSample *>(header);
    const int64_t *values = reinterpret_cast<const int64_t *>(sample + 1);
    fprintf(out, "values %d %u", record.tid, sample->is_last);
    for (uint32_t i = 0; i < sample->count; i++) fprintf(out, " %lld", static_cast<long long>(values[i]));
    fprintf(out, "\n");
  } else if (header->kind == DefinitionKind::kStackSample) {
    const StackSample *sample = reinterpret_cast<const StackSample *>(header);
    const uint64_t *addresses = reinterpret_cast<const uint64_t *>(sample + 1);
    fprintf(out, "stack %d %u", record.tid, sample->truncated);
    for (uint32_t i = 0; i < sample->depth; i++) {
      Dl_info info = {};
      const char *name = dladdr(reinterpret_cast<void *>(addresses[i] - 1), &info) != 0 ? info.dli_sname : nullptr;
      fprintf(out, " %s", name != nullptr ? name : info.dli_fname != nullptr ? "?" : "unmapped");
    }
    fprintf(out, "\n");
  }
}

struct ThreadStart {
  void *(*function)(void *);
  void *argument;
};

void *run_thread(void *start) {
  ThreadStart copy = *static_cast<ThreadStart *>(start);
  free(start);
  module->start_thread();
  pthread_cleanup_push([](void *) { module->stop_thread(); }, nullptr);
  copy.argument = copy.function(copy.argument);
  pthread_cleanup_pop(1);
  return copy.argument;
}

__attribute__((constructor)) void start() {
  int saved_errno = errno;
  const char *path = getenv("SAMPLER_MODULE"), *text = getenv("SLURMSCOPE");
  char error[256];
  void *object = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (object == nullptr || !parse_settings(text, &settings, error, sizeof error)) {
    fprintf(stderr, "sampler_host: %s\n", object == nullptr ? dlerror() : error);
    _exit(99);
  }
  records = static_cast<Record *>(calloc(kRecordCount, sizeof(Record)));
  owner = getpid();
  const SamplerModule *found = static_cast<const SamplerModule *>(dlsym(object, "slurmscope_sampler"));
  found->start_process(&host);
  found->start_thread();
  module = found;
  pthread_atfork(nullptr, nullptr, [] { module->forget(); });
  errno = saved_errno;
}

__attribute__((destructor)) void finish() {
  if (getpid() != owner) return;
  module->stop_process();
  module->stop_process();  // at MPI_Finalize and again at exit
  FILE *out = fopen(getenv("SAMPLER_RESULT"), "w");
  if (out == nullptr) return;
  uint32_t count = record_count < kRecordCount ? record_count.load() : kRecordCount;
  for (uint32_t i = 0; i < count; i++) print_record(out, records[i]);
  fclose(out);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                                     void *(*function)(void *), void *argument) {
  using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static Create real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (module == nullptr) return real(thread, attributes, function, argument);
  ThreadStart *start = static_cast<ThreadStart *>(malloc(sizeof *start));
  *start = {function, argument};
  int error = real(thread, attributes, run_thread, start);
  if (error != 0) free(start);
  return error;
}
