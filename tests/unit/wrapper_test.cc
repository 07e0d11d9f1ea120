// Each wrapper calls the function of its own name, once, and leaves one event of its own id.
//
// Compiled with the backend's sources once per mpi.h, against an MPI that is nothing but counters: so
// a mistake in the table (Testsome forwarded to Waitsome) cannot hide behind an MPI that works.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "profiler/mpi/implementation.h"

extern "C" const slurmscope::MpiBackend slurmscope_mpi_backend;

namespace slurmscope {
namespace {

constexpr const char *kNames[] = {
#define MPI_CALL(name, ...) #name, "P" #name,
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
};

std::vector<size_t> called;  // slots, in order
int outcome = 0;             // what the fake functions return
std::string absent;          // a name that the fake library lacks

template <size_t slot> int fake_function() {
  called.push_back(slot);
  return outcome;
}
template <size_t... slot> std::vector<void *> make_fakes(std::index_sequence<slot...>) {
  return {reinterpret_cast<void *>(&fake_function<slot>)...};
}
const std::vector<void *> kFakes = make_fakes(std::make_index_sequence<kMpiSlotCount>());

// The local functions that the backend itself asks: rank 1 of 2, everywhere.
int one(MPI_Comm, int *value) { return *value = 1, 0; }
int two(MPI_Comm, int *value) { return *value = 2, 0; }
int zero(MPI_Comm, int *value) { return *value = 0, 0; }
int group(MPI_Comm, MPI_Group *made) { return memset(made, 1, sizeof(*made)), 0; }
int group_size(MPI_Group, int *value) { return *value = 2, 0; }
int translate(MPI_Group, int count, const int *ranks, MPI_Group, int *world) {
  for (int i = 0; i < count; i++) world[i] = ranks[i];
  return 0;
}
int group_free(MPI_Group *) { return 0; }
int type_size(MPI_Datatype, MPI_Count *size) { return *size = 4, 0; }
int version(char *text, int *length) { return strcpy(text, "fake MPI\nsecond line"), *length = 8, 0; }
int level(int *value) { return *value = MPI_THREAD_MULTIPLE, 0; }
int yes(int *flag) { return *flag = 1, 0; }
int no(int *flag) { return *flag = 0, 0; }

void *find_function(const char *name) {
  static const std::map<std::string, void *> own = {
      {"PMPI_Comm_rank", (void *)one},           {"PMPI_Comm_size", (void *)two},
      {"PMPI_Comm_test_inter", (void *)zero},    {"PMPI_Comm_remote_size", (void *)zero},
      {"PMPI_Comm_group", (void *)group},        {"PMPI_Comm_remote_group", (void *)group},
      {"PMPI_Group_size", (void *)group_size},   {"PMPI_Group_translate_ranks", (void *)translate},
      {"PMPI_Group_free", (void *)group_free},   {"PMPI_Type_size_x", (void *)type_size},
      {"PMPI_Get_library_version", (void *)version}, {"PMPI_Query_thread", (void *)level},
      {"PMPI_Initialized", (void *)yes},         {"PMPI_Finalized", (void *)no}};
  if (name == absent) return nullptr;
  if (auto found = own.find(name); found != own.end()) return found->second;
  for (size_t slot = 0; slot < kMpiSlotCount; slot++)
    if (strcmp(kNames[slot], name) == 0) return kFakes[slot];
  return nullptr;
}
void *find_object(const char *name) {
  static std::map<std::string, char[8]> objects;
  return objects[name];
}

// A recorder whose ring is plain memory.
alignas(4096) unsigned char ring_memory[sizeof(RingFile)];
Event events[1024];
alignas(64) uint8_t cache[kBackendCacheBytes];
ProcessFile process_file;
ThreadRecorder recorder;
ProcessRecorder process{1, 0, 0, 0};
thread_local ThreadLocal local;
std::vector<std::pair<DefinitionKind, uint64_t>> definitions;  // kind, handle
bool is_recorded = true;

bool define(const DefinitionHeader *record) {
  definitions.emplace_back(record->kind, reinterpret_cast<const CommunicatorDefinition *>(record)->handle);
  return true;
}
bool close_polls(ThreadRecorder *self) {
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
    .close_polls = close_polls,
    .define = define,
    .site_id = [](CallSite site) -> uint32_t { return site.address != nullptr ? 5 : 0; },
    .count_loss = [](LossReason) {},
    .note = [](const char *text) { ADD_FAILURE() << "note: " << text; },
    .process_file = [] { return &process_file; },
    .mpi_initialized = [] {},
    .mpi_finalizing = [] {},
};
const MpiLibrary library = {find_function, find_object};
void *slots[kMpiSlotCount];

// Arguments that hold for every routine: each number is 1, each pointer leads to zeros.
alignas(64) unsigned char arguments[16][4096];
template <typename T> T argument(size_t i) {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(arguments[i]);
  else return static_cast<T>(1);
}
template <typename... A, size_t... i> int call_with(int (*function)(A...), std::index_sequence<i...>) {
  return function(argument<A>(i)...);
}
template <typename... A> int call(void *slot, int (*)(A...)) {
  return call_with(reinterpret_cast<int (*)(A...)>(slot), std::index_sequence_for<A...>());
}
int call_slot(size_t slot) {
  switch (slot / 2) {
#define MPI_CALL(name, ...) \
  case kCall_##name - 1:    \
    return call(slots[slot], static_cast<decltype(&P##name)>(nullptr));
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
  }
  return -1;
}

// After MPI_Finalize the backend asks MPI nothing any more, in the whole process: its slots come last.
bool is_finalize(size_t slot) { return slot / 2 == kCall_MPI_Finalize - 1; }

class WrapperTest : public testing::Test {
 protected:
  void SetUp() override {
    recorder = {};
    recorder.is_active = 1;
    recorder.file = reinterpret_cast<RingFile *>(ring_memory);
    recorder.events = events;
    recorder.event_mask = 1023;
    recorder.checkpoint = UINT64_MAX;
    recorder.polls_limit = UINT64_MAX;
    recorder.backend_cache = cache;
    local = {};
    is_recorded = true;
    outcome = 0;
    absent.clear();
    link.thread_local_offset = reinterpret_cast<char *>(&local) - static_cast<char *>(__builtin_thread_pointer());
    ASSERT_TRUE(slurmscope_mpi_backend.start(&link, &library, slots));
    begin();
  }
  static void begin() {
    called.clear();
    definitions.clear();
    recorder.head = 0;
    memset(static_cast<void *>(recorder.file->polls), 0, sizeof(recorder.file->polls));
    memset(static_cast<void *>(events), 0xee, sizeof(events));
    memset(arguments, 0, sizeof(arguments));
  }
};

void expect_own_event(size_t slot) {
  EXPECT_EQ(called, std::vector<size_t>{slot}) << kNames[slot] << " called something else";
  // With every flag unset the polls find nothing.
  bool is_poll = recorder.head == 0;
  if (is_poll) link.close_polls(&recorder);
  ASSERT_GE(recorder.head, 1u) << kNames[slot];
  EXPECT_EQ(events[0].call, slot / 2 + 1) << kNames[slot];
  EXPECT_STREQ(kCallTable[events[0].call].name, kNames[slot / 2 * 2]);
  EXPECT_EQ(events[0].site, 5u) << kNames[slot];
  EXPECT_LE(events[0].start, events[0].end) << kNames[slot];
  EXPECT_EQ(events[0].flags & kEventFailed, 0) << kNames[slot];
  for (uint64_t i = 0; i < recorder.head; i++) EXPECT_EQ(events[i].kind == (is_poll ? EventKind::kPolls : EventKind::kCall), i == 0) << kNames[slot];
  if (is_poll) {
    EXPECT_EQ(recorder.head, 1u) << kNames[slot];
    EXPECT_EQ(events[0].request, 1u) << kNames[slot];
  }
  EXPECT_EQ(local.guard, 0u) << kNames[slot];
}

TEST_F(WrapperTest, EachCallsItsOwnFunctionOnceAndLeavesItsOwnEvent) {
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    if (is_finalize(slot)) continue;
    begin();
    EXPECT_EQ(call_slot(slot), 0) << kNames[slot];
    expect_own_event(slot);
  }
}

TEST_F(WrapperTest, AnErrorIsPassedOnAndMarked) {
  outcome = 5;
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    if (is_finalize(slot)) continue;
    begin();
    EXPECT_EQ(call_slot(slot), 5) << kNames[slot];
    EXPECT_EQ(called, std::vector<size_t>{slot}) << kNames[slot];
    if (strstr(kNames[slot], "MPI_Abort") != nullptr) continue;  // its event is written before the call
    ASSERT_EQ(recorder.head, 1u) << kNames[slot];
    EXPECT_EQ(events[0].flags, kEventFailed) << kNames[slot];
    EXPECT_EQ(events[0].bytes, 0u) << kNames[slot];
  }
}

TEST_F(WrapperTest, NestedCallsPassThrough) {
  local.guard = ~uintptr_t{0};
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    if (is_finalize(slot)) continue;
    begin();
    EXPECT_EQ(call_slot(slot), 0) << kNames[slot];
    EXPECT_EQ(called, std::vector<size_t>{slot}) << kNames[slot];
    EXPECT_EQ(recorder.head, 0u) << kNames[slot];
    EXPECT_EQ(local.guard, ~uintptr_t{0}) << kNames[slot];
  }
}

TEST_F(WrapperTest, UnrecordedThreadsPassThrough) {
  is_recorded = false;
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    if (is_finalize(slot)) continue;
    begin();
    EXPECT_EQ(call_slot(slot), 0) << kNames[slot];
    EXPECT_EQ(called, std::vector<size_t>{slot}) << kNames[slot];
    EXPECT_EQ(recorder.head, 0u) << kNames[slot];
    EXPECT_EQ(local.guard, 0u) << kNames[slot];
  }
}

TEST_F(WrapperTest, AFunctionThatTheLibraryLacksReturnsAnError) {
  absent = "PMPI_Ibarrier";
  ASSERT_TRUE(slurmscope_mpi_backend.start(&link, &library, slots));
  begin();
  EXPECT_NE(call_slot(2 * (kCall_MPI_Ibarrier - 1) + 1), 0);
  EXPECT_TRUE(called.empty());
  EXPECT_EQ(call_slot(2 * (kCall_MPI_Ibarrier - 1)), 0);
}

TEST_F(WrapperTest, RequestsAreCopiedBeforeTheCall) {
  // The fake Waitall leaves the requests alone; the completions name what was there before.
  begin();
  MPI_Request requests[40];
  for (int i = 0; i < 40; i++) {
    uintptr_t bits = 0x1000 + static_cast<uintptr_t>(i);
    memcpy(&requests[i], &bits, sizeof(requests[i]));
  }
  requests[7] = handles.null_request;
  auto waitall = reinterpret_cast<decltype(&PMPI_Waitall)>(slots[2 * (kCall_MPI_Waitall - 1)]);
  MPI_Status statuses[40];
  memset(statuses, 0, sizeof(statuses));
  for (int i = 0; i < 40; i++) statuses[i].MPI_SOURCE = i, statuses[i].MPI_TAG = 100 + i;
  EXPECT_EQ(waitall(40, requests, statuses), 0);
  ASSERT_EQ(recorder.head, 40u);  // the call, and 39 requests that were not null
  for (uint64_t k = 1; k < 40; k++) {
    uint64_t i = k <= 7 ? k - 1 : k;
    EXPECT_EQ(events[k].kind, EventKind::kComplete);
    EXPECT_EQ(events[k].request, 0x1000 + i);
    EXPECT_EQ(events[k].peer, static_cast<int32_t>(i));
    EXPECT_EQ(events[k].tag, static_cast<int32_t>(100 + i));
  }
}

// (G18) Which calls find nothing with unset flags, and what a probe says of itself.
TEST_F(WrapperTest, PollsThatFindNothingAreFolded) {
  std::vector<std::string> folded;
  for (size_t slot = 0; slot < kMpiSlotCount; slot += 2) {
    if (is_finalize(slot)) continue;
    begin();
    call_slot(slot);
    if (recorder.head == 0) folded.push_back(kNames[slot]);
  }
  for (const char *name : {"MPI_Iprobe", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"})
    EXPECT_EQ(std::count(folded.begin(), folded.end(), name), 1) << name;
  begin();
  auto iprobe = reinterpret_cast<decltype(&PMPI_Iprobe)>(slots[2 * (kCall_MPI_Iprobe - 1)]);
  int flag = 0;
  MPI_Status status;
  memset(&status, 0, sizeof(status));
  for (int i = 0; i < 3; i++) EXPECT_EQ(iprobe(MPI_ANY_SOURCE, 9, handles.world, &flag, &status), 0);
  flag = 1;
  EXPECT_EQ(iprobe(MPI_ANY_SOURCE, 9, handles.world, &flag, &status), 0);
  ASSERT_EQ(recorder.head, 1u);
  EXPECT_EQ(events[0].kind, EventKind::kCall);
  PollRow *row = first_open_row(recorder.file->polls);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->count, 3u);
  EXPECT_EQ(row->peer, kPeerAnySource);
  EXPECT_EQ(row->tag, 9);
  EXPECT_EQ(row->object, bits_of(handles.world));
}

TEST_F(WrapperTest, WildcardsAndNullProcessesAreTranslated) {
  begin();
  auto send = reinterpret_cast<decltype(&PMPI_Send)>(slots[2 * (kCall_MPI_Send - 1)]);
  MPI_Datatype type;
  memset(&type, 3, sizeof(type));
  EXPECT_EQ(send(arguments[0], 10, type, MPI_PROC_NULL, 1, handles.world), 0);
  EXPECT_EQ(events[0].peer, kPeerProcNull);
  EXPECT_EQ(events[0].bytes, 0u);
  EXPECT_EQ(send(arguments[0], 0x7fffffff, type, 1, 1, handles.world), 0);
  EXPECT_EQ(events[1].bytes, uint64_t{0x7fffffff} * 4);
  EXPECT_EQ(events[1].object, bits_of(handles.world));
  auto irecv = reinterpret_cast<decltype(&PMPI_Irecv)>(slots[2 * (kCall_MPI_Irecv - 1)]);
  MPI_Request request;
  memset(&request, 0, sizeof(request));
  EXPECT_EQ(irecv(arguments[0], 1, type, MPI_ANY_SOURCE, MPI_ANY_TAG, handles.world, &request), 0);
  EXPECT_EQ(events[2].peer, kPeerAnySource);
}

TEST_F(WrapperTest, ThenFinalize) {
  for (size_t slot : {2 * (kCall_MPI_Finalize - 1), 2 * (kCall_MPI_Finalize - 1) + 1}) {
    begin();
    EXPECT_EQ(call_slot(slot), 0);
    expect_own_event(slot);
    EXPECT_NE(process_file.finalize_start, 0u);
    EXPECT_EQ(process_file.finalize_end, events[0].end);
  }
  // What is called later is recorded, but MPI is not asked about its arguments.
  begin();
  EXPECT_EQ(call_slot(2 * (kCall_MPI_Send - 1)), 0);
  EXPECT_EQ(events[0].bytes, 0u);
}

}  // namespace
}  // namespace slurmscope
