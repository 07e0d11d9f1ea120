// See fake_mpi.h.
#include "tests/unit/fake_mpi.h"

#include <cstdarg>
#include <cstring>
#include <map>
#include <set>
#include <type_traits>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace slurmscope::test {
std::vector<Seen> seen;
int outcome = 0;
std::string absent;
bool records_queries = false, is_recorded = true, fake_is_inter = false;

alignas(64) unsigned char memory[16][4096];
alignas(4096) static unsigned char ring_memory[sizeof(RingFile)];
alignas(64) static uint8_t cache[kBackendCacheBytes];
Event events[1024];
ThreadRecorder recorder;
ProcessRecorder process;
ProcessFile process_file;
thread_local ThreadLocal local;
std::vector<CommunicatorDefinition> definitions;
void *slots[kMpiSlotCount];

namespace {

#if MPI_VERSION < 4
#define MPI_CALL_SINCE(version, name, call_class, shape) {#name, #shape, false}, {"P" #name, #shape, false},
#endif
#define MPI_CALL(name, call_class, shape) {#name, #shape, true}, {"P" #name, #shape, true},
const Routine kRoutines[] = {
#include "profiler/mpi/mpi_calls.def"
};
#undef MPI_CALL
static_assert(sizeof(kRoutines) / sizeof(kRoutines[0]) == kMpiSlotCount);

template <typename T> uint64_t bits(T value) {
  uint64_t result = 0;
  static_assert(sizeof(value) <= sizeof(result));
  memcpy(&result, &value, sizeof(value));
  return result;
}

template <typename T> void fill(T) {}
void fill(MPI_Status *status) {
  if (status == MPI_STATUS_IGNORE) return;
  *status = {};
  status->MPI_SOURCE = kFakeSource;
  status->MPI_TAG = kFakeTag;
#if defined(OPEN_MPI)
  status->_ucount = kFakeBytes;
#else
  status->count_lo = kFakeBytes;
#endif
}

template <size_t slot, typename Function> struct Fake;
template <size_t slot, typename... A> struct Fake<slot, int (*)(A...)> {
  static int call(A... arguments) {
    seen.push_back({slot, {bits(arguments)...}});
    if (outcome == MPI_SUCCESS) (fill(arguments), ...);
    return outcome;
  }
};
// MPI_Pcontrol: whatever came through registers and stack.
template <size_t slot> struct Fake<slot, int (*)(int, ...)> {
  static int call(int level, ...) {
    std::vector<uint64_t> arguments = {bits(level)};
    va_list rest;
    va_start(rest, level);
    for (int i = 0; i < 9; i++) {
      arguments.push_back(va_arg(rest, uint64_t));
      arguments.push_back(bits(va_arg(rest, double)));
    }
    va_end(rest);
    seen.push_back({slot, arguments});
    return outcome;
  }
};
template <size_t slot> int unknown_routine() {
  seen.push_back({slot, {}});
  return outcome;
}

#if MPI_VERSION < 4
#define MPI_CALL_SINCE(version, name, ...)                                        \
  reinterpret_cast<void *>(&unknown_routine<2 * (kCall_##name - 1)>),             \
      reinterpret_cast<void *>(&unknown_routine<2 * (kCall_##name - 1) + 1>),
#endif
#define MPI_CALL(name, ...)                                                                        \
  reinterpret_cast<void *>(&Fake<2 * (kCall_##name - 1), decltype(&P##name)>::call),               \
      reinterpret_cast<void *>(&Fake<2 * (kCall_##name - 1) + 1, decltype(&P##name)>::call),
void *const kFakes[] = {
#include "profiler/mpi/mpi_calls.def"
};
#undef MPI_CALL

// The local functions that the backend itself asks.
int rank(MPI_Comm, int *value) { return *value = kFakeRank, 0; }
int size(MPI_Comm, int *value) { return *value = kFakeSize, 0; }
int is_inter(MPI_Comm, int *value) { return *value = fake_is_inter, 0; }
int remote_size(MPI_Comm, int *value) { return *value = kFakeRemoteSize, 0; }
int group(MPI_Comm, MPI_Group *made) { return memset(made, 1, sizeof(*made)), 0; }
int window_group(MPI_Win, MPI_Group *made) { return memset(made, 1, sizeof(*made)), 0; }
int group_rank(MPI_Group, int *value) { return *value = kFakeRank, 0; }
int group_size(MPI_Group, int *value) { return *value = kFakeSize, 0; }
int translate(MPI_Group, int count, const int *ranks, MPI_Group, int *world) {
  for (int i = 0; i < count; i++) world[i] = ranks[i];
  return 0;
}
int group_free(MPI_Group *) { return 0; }
int type_size(MPI_Datatype, MPI_Count *value) { return *value = 4, 0; }
int topology(MPI_Comm, int *kind) { return *kind = MPI_CART, 0; }
int dimensions(MPI_Comm, int *number) { return *number = 2, 0; }
int shift(MPI_Comm, int dimension, int, int *from, int *to) {
  *from = dimension == 0 ? MPI_PROC_NULL : 1;
  return *to = 2, 0;
}
int graph_neighbors(MPI_Comm, int, int *number) { return *number = 5, 0; }
int dist_neighbors(MPI_Comm, int *in, int *out, int *weighted) { return *in = 5, *out = 6, *weighted = 0, 0; }
int byte_offset(MPI_File, MPI_Offset offset, MPI_Offset *byte) { return *byte = offset * 8, 0; }
int version(char *text, int *length) { return strcpy(text, "fake MPI\nsecond line"), *length = 8, 0; }
int level(int *value) { return *value = MPI_THREAD_MULTIPLE, 0; }
int yes(int *flag) { return *flag = 1, 0; }
int no(int *flag) { return *flag = 0, 0; }

// The backend asks for its own functions first, and then for those of all slots.
std::set<std::string> handed;
void *find_function(const char *name) {
  static const std::map<std::string, void *> own = {
      {"PMPI_Comm_rank", (void *)rank},         {"PMPI_Comm_size", (void *)size},
      {"PMPI_Comm_test_inter", (void *)is_inter}, {"PMPI_Comm_remote_size", (void *)remote_size},
      {"PMPI_Comm_group", (void *)group},       {"PMPI_Comm_remote_group", (void *)group},
      {"PMPI_Win_get_group", (void *)window_group}, {"PMPI_Group_rank", (void *)group_rank},
      {"PMPI_Group_size", (void *)group_size},  {"PMPI_Group_translate_ranks", (void *)translate},
      {"PMPI_Group_free", (void *)group_free},  {"PMPI_Type_size_x", (void *)type_size},
      {"PMPI_Topo_test", (void *)topology},     {"PMPI_Cartdim_get", (void *)dimensions},
      {"PMPI_Cart_shift", (void *)shift},       {"PMPI_Graph_neighbors_count", (void *)graph_neighbors},
      {"PMPI_Dist_graph_neighbors_count", (void *)dist_neighbors},
      {"PMPI_File_get_byte_offset", (void *)byte_offset},
      {"PMPI_Get_library_version", (void *)version}, {"PMPI_Query_thread", (void *)level},
      {"PMPI_Initialized", (void *)yes},        {"PMPI_Finalized", (void *)no}};
  if (name == absent) return nullptr;
  if (auto found = own.find(name); found != own.end() && handed.insert(name).second) return found->second;
  for (size_t slot = 0; slot < kMpiSlotCount; slot++)
    if (strcmp(kRoutines[slot].name, name) == 0) return kFakes[slot];
  return nullptr;
}
void *find_object(const char *name) {
  static std::map<std::string, char[8]> objects;
  return objects[name];
}
MpiLibrary library = {find_function, find_object, [](const char *) -> uint32_t { return kFakeFile; }, false};

bool define(const DefinitionHeader *record) {
  definitions.push_back(*reinterpret_cast<const CommunicatorDefinition *>(record));
  return true;
}
bool write_polls(ThreadRecorder *self) {
  while (PollRow *row = first_open_row(self->file->polls)) {
    self->events[self->head++] = event_of(*row);
    row->count = 0;
  }
  return true;
}
RecorderLink link = {
    .version = kRingVersion,
    .thread_local_offset = 0,
    .process = &process,
    .attach_thread = [] { return is_recorded ? local.recorder = &recorder : nullptr; },
    .make_room = [](ThreadRecorder *) { return true; },
    .close_polls = write_polls,
    .define = define,
    .site_id = [](CallSite site) -> uint32_t { return site.address != nullptr ? 5 : 0; },
    .count_loss = [](LossReason) {},
    .note = [](const char *text) { ADD_FAILURE() << "note: " << text; },
    .process_file = [] { return &process_file; },
    .mpi_initialized = [] {},
    .mpi_finalizing = [] {},
};

template <typename T> T argument(size_t i) {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    if constexpr (std::is_const_v<Target> && std::is_integral_v<Target> && !std::is_same_v<Target, const char>) {
      auto *numbers = reinterpret_cast<std::remove_const_t<Target> *>(memory[i]);
      for (size_t k = 0; k < sizeof(memory[i]) / sizeof(*numbers); k++) numbers[k] = 2;
    }
    return reinterpret_cast<T>(memory[i]);
  } else {
    return static_cast<T>(i + 1);
  }
}
template <typename... A, size_t... i>
int call_with(int (*function)(A...), std::index_sequence<i...>, std::vector<uint64_t> *passed) {
  *passed = {bits(argument<A>(i))...};
  return function(argument<A>(i)...);
}
template <typename... A> int call(void *slot, int (*)(A...), std::vector<uint64_t> *passed) {
  return call_with(reinterpret_cast<int (*)(A...)>(slot), std::index_sequence_for<A...>(), passed);
}
int call(void *slot, int (*)(int, ...), std::vector<uint64_t> *passed) {
  // More than the registers hold, of both kinds. The level is one that changes nothing.
  *passed = {77};
  for (uint64_t i = 1; i <= 9; i++) {
    passed->push_back(i << 40 | i);
    passed->push_back(bits(static_cast<double>(i) / 3));
  }
  auto number = [&](size_t i) { return (*passed)[2 * i + 1]; };
  auto real = [&](size_t i) { return static_cast<double>(i + 1) / 3; };
  return reinterpret_cast<int (*)(int, ...)>(slot)(
      77, number(0), real(0), number(1), real(1), number(2), real(2), number(3), real(3), number(4), real(4), number(5),
      real(5), number(6), real(6), number(7), real(7), number(8), real(8));
}

}  // namespace

const Routine &routine_of(size_t slot) { return kRoutines[slot]; }

int call_slot(size_t slot, std::vector<uint64_t> *passed) {
  switch (slot / 2) {
#if MPI_VERSION < 4
#define MPI_CALL_SINCE(version, name, ...)
#endif
#define MPI_CALL(name, ...) \
  case kCall_##name - 1:    \
    return call(slots[slot], static_cast<decltype(&P##name)>(nullptr), passed);
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
  }
  passed->clear();
  return reinterpret_cast<int (*)()>(slots[slot])();
}

void FakeMpi::start() {
  handed.clear();
  library.records_queries = records_queries;
  ASSERT_TRUE(slurmscope_mpi_backend.start(&link, &library, slots));
}

bool FakeMpi::close_polls() {
  if (recorder.head != 0) return false;
  write_polls(&recorder);
  return recorder.head != 0;
}

void FakeMpi::SetUp() {
  recorder = {};
  recorder.is_active = 1;
  recorder.file = reinterpret_cast<RingFile *>(ring_memory);
  recorder.events = events;
  recorder.event_mask = 1023;
  recorder.checkpoint = UINT64_MAX;
  recorder.polls_limit = UINT64_MAX;
  recorder.backend_cache = cache;
  memset(cache, 0, sizeof(cache));
  process = {};
  process.is_active = 1;
  local = {};
  is_recorded = true;
  records_queries = fake_is_inter = false;
  outcome = 0;
  absent.clear();
  link.thread_local_offset = reinterpret_cast<char *>(&local) - static_cast<char *>(__builtin_thread_pointer());
  start();
  begin();
}

void FakeMpi::begin() {
  seen.clear();
  definitions.clear();
  recorder.head = 0;
  memset(static_cast<void *>(recorder.file->polls), 0, sizeof(recorder.file->polls));
  memset(static_cast<void *>(events), 0xee, sizeof(events));
  memset(memory, 0, sizeof(memory));
}

}  // namespace slurmscope::test
