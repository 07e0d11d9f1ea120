// See papi.h.
#include "profiler/sampler/papi.h"

#include <cstdio>
#include <cstring>

#include "config.h"
#include "profiler/sampler/papi_users.h"
#ifdef HAVE_PAPI
#include <pthread.h>

#include "profiler/sampler/papi_library.h"
#endif

namespace slurmscope {
namespace {

constexpr size_t kNameSize = 256;
const SamplerHost *host;

void note_counter(const char *name, const char *reason) {
  char text[1024];
  snprintf(text, sizeof text, "counter %s: %.700s", name, reason);
  host->note(text);
}

/// Calls `action(name)` for each word of the '+'-joined setting.
template <typename Action> void for_each_name(const char *list, Action action) {
  while (*list != '\0') {
    size_t length = strcspn(list, "+");
    char name[kNameSize];
    if (length > 0 && length < sizeof name) {
      memcpy(name, list, length);
      name[length] = '\0';
      action(name);
    }
    list += length + (list[length] == '+');
  }
}

}  // namespace

#ifdef HAVE_PAPI
namespace {

struct Counter {
  char name[kNameSize];
  int component;
  int id;  // of the definition; -1: not defined yet (process counters that have no value so far)
};

/// Event set with the process's counters of one component.
struct ProcessSet {
  int component, event_set, count;
  bool is_running;
  int counters[kMaxCounters];  // indexes into process_counters, in the set's order
};

Counter thread_counters[kMaxCounters], process_counters[kMaxCounters];
int thread_count, process_count, defined_count;
ProcessSet process_sets[8];
int process_set_count;
int64_t last_values[kMaxCounters];  // of process counters, by definition id
bool is_ready, is_child;

unsigned long thread_number() { return static_cast<unsigned long>(pthread_self()); }

const char *component_name(int component) {
  const PAPI_component_info_t *info = papi.get_component_info(component);
  return info != nullptr ? info->name : "";
}

/// What PAPI says, and why the component that `name` would belong to is not there.
void note_error(const char *name, int error) {
  char reason[1024];
  const char *prefix_end = strstr(name, ":::");
  for (int i = 0; i < papi.num_components(); i++) {
    const PAPI_component_info_t *info = papi.get_component_info(i);
    if (info == nullptr || info->disabled == 0 || info->disabled_reason[0] == '\0') continue;
    bool is_its = prefix_end != nullptr ? strncmp(info->name, name, static_cast<size_t>(prefix_end - name)) == 0 &&
                                              info->name[prefix_end - name] == '\0'
                                        : strcmp(info->name, "perf_event") == 0;
    if (!is_its) continue;
    snprintf(reason, sizeof reason, "%s (%s: %.500s)", papi.strerror(error), info->name, info->disabled_reason);
    note_counter(name, reason);
    return;
  }
  note_counter(name, papi.strerror(error));
}

bool define_counter(Counter *counter) {
  struct {
    CounterDefinition head;
    char name[kNameSize];
  } record = {};
  size_t size = strlen(counter->name);
  record.head.header.kind = DefinitionKind::kCounter;
  record.head.header.size = static_cast<uint32_t>((sizeof record.head + size + 7) & ~size_t{7});
  record.head.id = static_cast<uint32_t>(defined_count);
  record.head.name_size = static_cast<uint32_t>(size);
  memcpy(record.name, counter->name, size);
  if (!host->define(&record.head.header)) return false;
  counter->id = defined_count++;
  return true;
}

void discard_set(int *event_set) {
  if (*event_set == PAPI_NULL) return;
  papi.cleanup_eventset(*event_set);
  papi.destroy_eventset(event_set);
  *event_set = PAPI_NULL;
}

/// A new event set with what of `counters` can be added to it, in order; the rest is noted and removed.
int make_set(Counter *counters, int *count, bool speaks) {
  int event_set = PAPI_NULL;
  if (papi.create_eventset(&event_set) != PAPI_OK) return PAPI_NULL;
  int kept = 0;
  for (int i = 0; i < *count; i++) {
    int error = papi.add_named_event(event_set, counters[i].name);
    if (error == PAPI_OK) {
      if (kept != i) counters[kept] = counters[i];
      kept++;
    } else if (speaks) {
      note_error(counters[i].name, error);
    }
  }
  *count = kept;
  return event_set;
}

/// Per-thread counters: a component that says it is there proves nothing, so start and stop them.
void probe_thread_counters() {
  if (thread_count == 0) return;
  int event_set = make_set(thread_counters, &thread_count, true);
  long long values[kMaxCounters];
  int error = thread_count == 0 ? PAPI_OK : papi.start(event_set);
  if (error == PAPI_OK && thread_count != 0) error = papi.stop(event_set, values);
  discard_set(&event_set);
  if (error == PAPI_OK) return;
  for (int i = 0; i < thread_count; i++) note_error(thread_counters[i].name, error);
  thread_count = 0;
}

void start_process_set(int component) {
  if (process_set_count == static_cast<int>(sizeof process_sets / sizeof process_sets[0])) return;
  ProcessSet *set = &process_sets[process_set_count];
  *set = {component, PAPI_NULL, 0, false, {}};
  if (papi.create_eventset(&set->event_set) != PAPI_OK) return;
  for (int i = 0; i < process_count; i++) {
    if (process_counters[i].component != component) continue;
    int error = papi.add_named_event(set->event_set, process_counters[i].name);
    if (error == PAPI_OK) set->counters[set->count++] = i;
    else note_error(process_counters[i].name, error);
  }
  int error = set->count == 0 ? PAPI_OK : papi.start(set->event_set);
  if (error == PAPI_OK && set->count != 0) {
    set->is_running = true;
    process_set_count++;
    return;
  }
  for (int i = 0; i < set->count; i++) note_error(process_counters[set->counters[i]].name, error);
  discard_set(&set->event_set);
}

bool initialize_papi(const char **reason) {
  if (is_child) {
    *reason = "not counted in a process that was forked while counting";
    return false;
  }
  if (!load_papi(reason)) return false;
  if (papi.is_initialized() != PAPI_NOT_INITED || application_uses_papi()) {
    *reason = "the program uses PAPI itself, so it is left to it";
    return false;
  }
  papi.set_debug(PAPI_QUIET);
  int version = papi.library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT) {
    *reason = version > 0 ? "this PAPI has another version than the one built against" : papi.strerror(version);
    return false;
  }
  papi.set_debug(PAPI_QUIET);
  int error = papi.thread_init(thread_number);
  if (error != PAPI_OK) {
    *reason = papi.strerror(error);
    return false;
  }
  return true;
}

}  // namespace

bool start_counters(const SamplerHost *sampler_host) {
  host = sampler_host;
  const char *names = host->settings->counters, *reason = nullptr;
  if (names[0] == '\0') return false;
  if (!initialize_papi(&reason)) {
    for_each_name(names, [&](const char *name) { note_counter(name, reason); });
    return false;
  }
  for_each_name(names, [](const char *name) {
    int code = 0, error = papi.event_name_to_code(name, &code);
    if (error != PAPI_OK) return note_error(name, error);
    int component = papi.get_event_component(code);
    if (component < 0) return note_error(name, component);
    bool is_thread = strcmp(component_name(component), "perf_event") == 0;
    int *count = is_thread ? &thread_count : &process_count;
    if (*count + (is_thread ? process_count : thread_count) == kMaxCounters) return note_counter(name, "too many counters");
    Counter *counter = &(is_thread ? thread_counters : process_counters)[(*count)++];
    snprintf(counter->name, sizeof counter->name, "%s", name);
    counter->component = component;
    counter->id = -1;
  });
  probe_thread_counters();
  for (int i = 0; i < thread_count; i++)
    if (!define_counter(&thread_counters[i])) return false;
  for (int i = 0; i < process_count; i++) {
    bool is_started = false;
    for (int k = 0; k < i; k++) is_started |= process_counters[k].component == process_counters[i].component;
    if (!is_started) start_process_set(process_counters[i].component);
  }
  is_ready = thread_count > 0 || process_set_count > 0;
  return is_ready;
}

bool start_thread_counters(ThreadCounters *counters) {
  *counters = {PAPI_NULL, false};
  if (!is_ready || thread_count == 0) return false;
  int count = thread_count;
  counters->event_set = make_set(thread_counters, &count, false);
  int error = count == thread_count ? papi.start(counters->event_set) : PAPI_ECNFLCT;
  counters->is_running = error == PAPI_OK;
  if (counters->is_running) {
    // The first read allocates what PAPI keeps per thread; later ones happen in the signal handler.
    long long values[kMaxCounters];
    papi.read(counters->event_set, values);
    return true;
  }
  discard_set(&counters->event_set);
  char text[256];
  snprintf(text, sizeof text, "counters: not started in a thread: %s", papi.strerror(error));
  host->note(text);
  return false;
}

int read_thread_counters(const ThreadCounters *counters, int64_t *values) {
  static_assert(sizeof(long long) == sizeof(int64_t));
  if (!counters->is_running) return 0;
  return papi.read(counters->event_set, reinterpret_cast<long long *>(values)) == PAPI_OK ? thread_count : 0;
}

int read_process_counters(int count, int64_t *values) {
  if (!is_ready || count != thread_count) return count;  // positions are ids: no gap
  for (int s = 0; s < process_set_count; s++) {
    ProcessSet *set = &process_sets[s];
    long long read[kMaxCounters];
    if (!set->is_running || papi.read(set->event_set, read) != PAPI_OK) continue;
    bool is_software = strcmp(component_name(set->component), "sde") == 0;
    for (int i = 0; i < set->count; i++) {
      Counter *counter = &process_counters[set->counters[i]];
      // PAPI accepts the name of a software-defined event before the program registers it, and gives
      // -1 as long as it has not.
      if (is_software && read[i] == -1) continue;
      if (counter->id < 0 && !define_counter(counter)) continue;
      last_values[counter->id] = read[i];
    }
  }
  for (int id = thread_count; id < defined_count; id++) values[id] = last_values[id];
  return defined_count;
}

void stop_thread_counters(ThreadCounters *counters) {
  if (!counters->is_running) return;
  counters->is_running = false;
  long long values[kMaxCounters];
  papi.stop(counters->event_set, values);
  discard_set(&counters->event_set);
  papi.unregister_thread();
}

void stop_counters() {
  if (!is_ready) return;
  is_ready = false;
  for (int s = 0; s < process_set_count; s++) {
    ProcessSet *set = &process_sets[s];
    for (int i = 0; i < set->count; i++) {
      const Counter &counter = process_counters[set->counters[i]];
      if (counter.id < 0) note_counter(counter.name, "the program did not register it");
    }
    long long values[kMaxCounters];
    if (set->is_running) papi.stop(set->event_set, values);
    set->is_running = false;
    discard_set(&set->event_set);
  }
}

void forget_counters() {
  if (papi.is_initialized != nullptr && papi.is_initialized() != PAPI_NOT_INITED) is_child = true;
  is_ready = false;
  thread_count = process_count = defined_count = process_set_count = 0;
}

#else

bool start_counters(const SamplerHost *sampler_host) {
  host = sampler_host;
  for_each_name(host->settings->counters, [](const char *name) { note_counter(name, "built without PAPI"); });
  return false;
}
bool start_thread_counters(ThreadCounters *) { return false; }
int read_thread_counters(const ThreadCounters *, int64_t *) { return 0; }
int read_process_counters(int count, int64_t *) { return count; }
void stop_thread_counters(ThreadCounters *) {}
void stop_counters() {}
void forget_counters() {}

#endif

}  // namespace slurmscope
