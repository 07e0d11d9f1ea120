// What each shape records of its routines: peer, bytes, object, request. See fake_mpi.h for the
// arguments: the n-th number (from 0) is n + 1, so a peer of 4 came from the fourth argument.
#include <cstring>
#include <map>
#include <set>

#include "profiler/mpi/mpi_io.h"
#include "tests/unit/fake_mpi.h"

namespace slurmscope::test {
namespace {

constexpr int kNoObject = -1, kLastArgument = -2, kTheFile = -3;

struct Expectation {
  int32_t peer = kPeerNone;
  uint64_t bytes = 0;
  int object = kNoObject;  // position of the argument whose bits it is
  int64_t offset = -1;
};

// By shape, or by the routine's name where routines of a shape have their arguments at other places.
const std::map<std::string, Expectation> kExpectations = {
    {"Initialize", {}}, {"Abort", {kPeerNone, 0, 0}}, {"Control", {}}, {"StartSession", {}}, {"EndSession", {}},
    {"CallOnly", {}}, {"CommunicatorFirst", {kPeerNone, 0, 0}},
    {"Send", {4, 8, 5}},
    {"Receive", {kFakeSource, kFakeBytes, 5}},
    {"SendReceive", {4, 8, 10}}, {"MPI_Sendrecv_replace", {4, 8, 7}},
    {"StartSendReceive", {4, 8, 10}}, {"MPI_Isendrecv_replace", {4, 8, 7}},
    {"StartReceive", {4, 0, 5}}, {"PersistentSend", {4, 8, 5}}, {"PersistentReceive", {4, 0, 5}},
    {"PartitionedSend", {5, 24, 6}}, {"PartitionedReceive", {5, 0, 6}},
    {"Probe", {1, 0, 2}}, {"MatchedProbe", {1, 0, 2}},
    {"MatchedReceive", {kFakeSource, kFakeBytes}}, {"StartMatchedReceive", {}},
    {"Start", {}}, {"One", {}}, {"All", {}}, {"Any", {}}, {"Some", {}}, {"Forget", {}},
    {"NamesRequest", {}}, {"AskRequest", {}}, {"NamesRequestLast", {}}, {"StartGeneralized", {}}, {"FreeType", {}},
    {"Barrier", {kPeerNone, 0, 0}}, {"Broadcast", {4, 8, 4}}, {"Reduce", {6, 12, 6}}, {"AllReduce", {kPeerNone, 12, 5}},
    {"ReduceScatter", {kPeerNone, 64 * 8, 5}}, {"ReduceScatterBlock", {kPeerNone, 64 * 12, 5}},
    {"Gather", {7, 8, 7}}, {"GatherVector", {8, 8, 8}}, {"Scatter", {7, 20, 7}}, {"ScatterVector", {8, 24, 8}},
    {"AllGather", {kPeerNone, 8, 6}}, {"AllGatherVector", {kPeerNone, 8, 7}}, {"AllToAll", {kPeerNone, 64 * 8, 6}},
    {"AllToAllVector", {kPeerNone, 64 * 8, 8}}, {"AllToAllTypes", {kPeerNone, 64 * 8, 8}},
    // Three of the four neighbors are there.
    {"NeighborAllGatherVector", {kPeerNone, 8, 7}}, {"NeighborAllToAll", {kPeerNone, 3 * 8, 6}},
    {"NeighborAllToAllVector", {kPeerNone, 3 * 8, 8}}, {"NeighborAllToAllTypes", {kPeerNone, 3 * 8, 8}},
    {"Put", {4, 8, 7}}, {"Accumulate", {4, 8, 8}}, {"GetAccumulate", {7, 20, 11}}, {"FetchAndOp", {4, 4, 6}},
    {"CompareAndSwap", {5, 4, 6}}, {"WindowLast", {kPeerNone, 0, kLastArgument}}, {"WindowFirst", {kPeerNone, 0, 0}},
    {"TestWindow", {kPeerNone, 0, 0}},
    {"LockTarget", {2, 0, 3}}, {"SyncTarget", {1, 0, 1}},
    {"NewWindow", {kPeerNone, 0, 4}}, {"MPI_Win_create_dynamic", {kPeerNone, 0, 1}},
    {"NewMemoryWindow", {kPeerNone, 0, 3}}, {"FreeWindow", {}},
    {"NewCommunicator", {kPeerNone, 0, 0}}, {"NewGroupCommunicator", {kPeerNone, 0, 0}},
    {"NewIntercommunicator", {kPeerNone, 0, 0}}, {"StartNewCommunicator", {kPeerNone, 0, 0}},
    {"NewFromGroup", {}}, {"NewFromGroups", {}}, {"FreeCommunicator", {}},
    {"Spawn", {5, 0, 5}}, {"MPI_Comm_spawn_multiple", {6, 0, 6}}, {"Connect", {3, 0, 3}},
    {"FileOpen", {kPeerNone, 0, kTheFile}}, {"FileDelete", {kPeerNone, 0, kTheFile}}, {"FileClose", {}},
    {"FileFirst", {kPeerNone, 0, kTheFile}},
    {"FileRead", {kPeerNone, kFakeBytes, kTheFile}}, {"FileReadEnd", {kPeerNone, kFakeBytes, kTheFile}},
    {"FileStartRead", {kPeerNone, 0, kTheFile}}, {"FileSplitRead", {kPeerNone, 0, kTheFile}},
    {"FileWrite", {kPeerNone, 12, kTheFile}},
};

Expectation expectation_of(const Routine &routine) {
  std::string name = routine.name;
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  auto found = kExpectations.find(name);
  if (found == kExpectations.end()) found = kExpectations.find(routine.shape);
  EXPECT_NE(found, kExpectations.end()) << routine.shape << ": no expectation";
  if (found == kExpectations.end()) return {};
  Expectation expected = found->second;
  // An explicit offset stands before the buffer.
  if (strncmp(routine.name, "MPI_File_", 9) == 0 && strstr(routine.name, "_at") != nullptr &&
      strncmp(routine.shape, "File", 4) == 0 && strstr(routine.name, "_end") == nullptr &&
      strstr(routine.name, "atomicity") == nullptr) {
    expected.offset = 2 * 8;
    if (strcmp(routine.shape, "FileWrite") == 0) expected.bytes += 4;
  }
  return expected;
}

struct ShapeTest : FakeMpi {
  void SetUp() override {
    FakeMpi::SetUp();
    open_files.put(reinterpret_cast<uint64_t>(memory[0]))->value.id = kFakeFile;
  }
};

TEST_F(ShapeTest, PeerBytesAndObjectOfEveryRoutine) {
  records_queries = true;
  start();
  for (uint16_t call = 1; call <= kMpiCallCount; call++) {
    const Routine &routine = routine_of(slot_of(call));
    if (!routine.exists || call == kCall_MPI_Finalize) continue;
    begin();
    std::vector<uint64_t> passed;
    ASSERT_EQ(call_slot(slot_of(call), &passed), 0);
    Expectation expected = expectation_of(routine);
    if (close_polls()) expected.offset = events[0].offset;  // of polls it is a time
    const Event &event = events[0];
    EXPECT_EQ(event.peer, expected.peer) << routine.name;
    EXPECT_EQ(event.bytes, expected.bytes) << routine.name;
    EXPECT_EQ(event.offset, expected.offset) << routine.name;
    uint64_t object = expected.object == kNoObject       ? 0
                      : expected.object == kLastArgument ? passed.back()
                      : expected.object == kTheFile      ? kFakeFile
                                                         : passed[static_cast<size_t>(expected.object)];
    EXPECT_EQ(event.object, object) << routine.name;
  }
}

// The table's classes against what the names say.
TEST_F(ShapeTest, ClassesFollowTheNames) {
  std::map<std::string, CallClass> classes;
  for (uint16_t call = 1; call <= kMpiCallCount; call++) classes[kCallTable[call].name] = kCallTable[call].call_class;
  for (const auto &[name, call_class] : classes) {
    if (name.ends_with("_c")) {
      EXPECT_EQ(call_class, classes[name.substr(0, name.size() - 2)]) << name;
    }
    if (call_class == CallClass::kCollective && !name.ends_with("_c")) {
      std::string started = "MPI_I" + std::string(1, static_cast<char>(tolower(name[4]))) + name.substr(5);
      EXPECT_EQ(classes[started], CallClass::kStartCollective) << started;
      EXPECT_EQ(classes[name + "_init"], CallClass::kSetup) << name;
    }
    bool is_file = name.starts_with("MPI_File_");
    bool is_io = call_class == CallClass::kMpiIoData || call_class == CallClass::kMpiIoMetadata ||
                 call_class >= CallClass::kMpiIoOpen;
    EXPECT_EQ(is_file, is_io || (is_file && call_class == CallClass::kQuery)) << name;
    if (name.find("File_read") != std::string::npos || name.find("File_iread") != std::string::npos) {
      EXPECT_EQ(call_class, name.find("_begin") != std::string::npos ? CallClass::kMpiIoData : CallClass::kMpiIoRead) << name;
    }
    if (name.find("File_write") != std::string::npos || name.find("File_iwrite") != std::string::npos) {
      EXPECT_EQ(call_class, name.find("_end") != std::string::npos ? CallClass::kMpiIoData : CallClass::kMpiIoWrite) << name;
    }
    if (name.ends_with("send_init") || name.ends_with("Send_init") || name.ends_with("recv_init")) {
      EXPECT_EQ(call_class, CallClass::kLocal) << name;
    }
  }
  EXPECT_EQ(classes["MPI_Send"], CallClass::kSend);
  EXPECT_EQ(classes["MPI_Mrecv"], CallClass::kReceive);
  EXPECT_EQ(classes["MPI_Imrecv"], CallClass::kStartReceive);
  EXPECT_EQ(classes["MPI_Isend"], CallClass::kStartSend);
  EXPECT_EQ(classes["MPI_Startall"], CallClass::kStart);
  EXPECT_EQ(classes["MPI_Waitany"], CallClass::kWait);
  EXPECT_EQ(classes["MPI_Testany"], CallClass::kTest);
  EXPECT_EQ(classes["MPI_Rput"], CallClass::kOneSided);
  EXPECT_EQ(classes["MPI_Win_flush_local"], CallClass::kOneSided);
  EXPECT_EQ(classes["MPI_Comm_rank"], CallClass::kQuery);
}

TEST_F(ShapeTest, RequestsAreCopiedBeforeTheCall) {  // (G1) (G5)
  MPI_Request requests[40];
  for (uint64_t i = 0; i < 40; i++) requests[i] = handle_of<MPI_Request>(0x1000 + i);
  requests[7] = handles.null_request;
  MPI_Status statuses[40];
  memset(statuses, 0, sizeof(statuses));
  for (int i = 0; i < 40; i++) statuses[i].MPI_SOURCE = i, statuses[i].MPI_TAG = 100 + i;
  EXPECT_EQ(WRAPPER(MPI_Waitall)(40, requests, statuses), 0);
  ASSERT_EQ(recorder.head, 40u);  // the call, and 39 requests that were not null
  for (uint64_t k = 2; k < 40; k++) {  // the fake fills the first status with its own values
    uint64_t i = k <= 7 ? k - 1 : k;
    EXPECT_EQ(events[k].kind, EventKind::kComplete);
    EXPECT_EQ(events[k].request, 0x1000 + i);
    EXPECT_EQ(events[k].peer, static_cast<int32_t>(i));
    EXPECT_EQ(events[k].tag, static_cast<int32_t>(100 + i));
  }
}

// Which calls find nothing with unset flags, and what a probe says of itself.
TEST_F(ShapeTest, PollsThatFindNothingAreFolded) {  // (G18)
  std::set<std::string> folded;
  for (uint16_t call = 1; call <= kMpiCallCount; call++) {
    if (call == kCall_MPI_Finalize || !routine_of(slot_of(call)).exists) continue;
    if (kCallTable[call].call_class == CallClass::kQuery) continue;
    begin();
    std::vector<uint64_t> passed;
    call_slot(slot_of(call), &passed);
    if (recorder.head == 0) folded.insert(routine_of(slot_of(call)).name);
  }
  std::set<std::string> expected = {"MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Testall", "MPI_Testany",
                                    "MPI_Testsome", "MPI_Request_get_status", "MPI_Win_test"};
  if (MPI_VERSION >= 4) expected.insert("MPI_Parrived");
  EXPECT_EQ(folded, expected);
  begin();
  int flag = 0;
  MPI_Status status;
  for (int i = 0; i < 3; i++) EXPECT_EQ(WRAPPER(MPI_Iprobe)(MPI_ANY_SOURCE, 9, handles.world, &flag, &status), 0);
  flag = 1;
  EXPECT_EQ(WRAPPER(MPI_Iprobe)(MPI_ANY_SOURCE, 9, handles.world, &flag, &status), 0);
  ASSERT_EQ(recorder.head, 1u);
  EXPECT_EQ(events[0].kind, EventKind::kCall);
  PollRow *row = first_open_row(recorder.file->polls);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->count, 3u);
  EXPECT_EQ(row->peer, kPeerAnySource);
  EXPECT_EQ(row->tag, 9);
  EXPECT_EQ(row->object, bits_of(handles.world));
}

TEST_F(ShapeTest, StartallNamesItsRequests) {  // (G2)
  MPI_Request requests[3];
  for (uint64_t i = 0; i < 3; i++) requests[i] = handle_of<MPI_Request>(0x2000 + i);
  EXPECT_EQ(WRAPPER(MPI_Startall)(3, requests), 0);
  ASSERT_EQ(recorder.head, 4u);
  EXPECT_EQ(events[0].kind, EventKind::kCall);
  EXPECT_EQ(events[0].request, 0u);
  for (uint64_t i = 0; i < 3; i++) {
    EXPECT_EQ(events[1 + i].kind, EventKind::kStart);
    EXPECT_EQ(events[1 + i].request, 0x2000 + i);
  }
  outcome = 5;
  begin();
  EXPECT_EQ(WRAPPER(MPI_Startall)(3, requests), 5);
  EXPECT_EQ(recorder.head, 1u);
}

TEST_F(ShapeTest, WildcardsAndNullProcessesAreTranslated) {  // (G6) (G13)
  auto type = handle_of<MPI_Datatype>(0x03030303);
  EXPECT_EQ(WRAPPER(MPI_Send)(memory[0], 10, type, MPI_PROC_NULL, 1, handles.world), 0);
  EXPECT_EQ(events[0].peer, kPeerProcNull);
  EXPECT_EQ(events[0].bytes, 0u);
  EXPECT_EQ(WRAPPER(MPI_Send)(memory[0], 0x7fffffff, type, 1, 1, handles.world), 0);
  EXPECT_EQ(events[1].bytes, uint64_t{0x7fffffff} * 4);
  EXPECT_EQ(events[1].object, bits_of(handles.world));
  auto request = handle_of<MPI_Request>(0);
  EXPECT_EQ(WRAPPER(MPI_Irecv)(memory[0], 1, type, MPI_ANY_SOURCE, MPI_ANY_TAG, handles.world, &request), 0);
  EXPECT_EQ(events[2].peer, kPeerAnySource);
  auto window = handle_of<MPI_Win>(0x5000);
  EXPECT_EQ(WRAPPER(MPI_Put)(memory[0], 10, type, MPI_PROC_NULL, 0, 10, type, window), 0);
  EXPECT_EQ(events[3].peer, kPeerProcNull);
  EXPECT_EQ(events[3].bytes, 0u);
}

TEST_F(ShapeTest, IgnoredStatusesStayIgnored) {  // (F3) (F9)
  auto type = handle_of<MPI_Datatype>(0x03030303);
  EXPECT_EQ(WRAPPER(MPI_Recv)(memory[0], 100, type, MPI_ANY_SOURCE, MPI_ANY_TAG, handles.world, MPI_STATUS_IGNORE), 0);
  EXPECT_EQ(events[0].peer, kFakeSource);
  EXPECT_EQ(events[0].tag, kFakeTag);
  EXPECT_EQ(events[0].bytes, kFakeBytes);
  is_recorded = false;
  local.recorder = nullptr;
  begin();
  EXPECT_EQ(WRAPPER(MPI_Recv)(memory[0], 100, type, 0, 0, handles.world, MPI_STATUS_IGNORE), 0);
  uint64_t ignore = reinterpret_cast<uint64_t>(MPI_STATUS_IGNORE);
  EXPECT_EQ(seen[0].arguments[6], ignore);
}

TEST_F(ShapeTest, OnlySignificantArgumentsAreLookedAt) {  // (G11) (F3)
  auto type = handle_of<MPI_Datatype>(0x03030303);
  MPI_Datatype junk = handles.null_type;
  // Not the root: counts are junk pointers.
  EXPECT_EQ(WRAPPER(MPI_Scatterv)(nullptr, nullptr, nullptr, junk, memory[0], 5, type, 0, handles.world), 0);
  EXPECT_EQ(events[0].bytes, 20u);
  EXPECT_EQ(WRAPPER(MPI_Gatherv)(memory[0], 5, type, nullptr, nullptr, nullptr, junk, 0, handles.world), 0);
  EXPECT_EQ(events[1].bytes, 20u);
  // In place: the send half is junk, the receive half says it. As the root of a gather, rank 1.
  EXPECT_EQ(WRAPPER(MPI_Gather)(MPI_IN_PLACE, -7, junk, memory[0], 6, type, kFakeRank, handles.world), 0);
  EXPECT_EQ(events[2].bytes, 24u);
  EXPECT_EQ(WRAPPER(MPI_Alltoall)(MPI_IN_PLACE, -7, junk, memory[0], 6, type, handles.world), 0);
  EXPECT_EQ(events[3].bytes, uint64_t{kFakeSize} * 24);
  // As the root of a scatter, in place at the receiving side.
  EXPECT_EQ(WRAPPER(MPI_Scatter)(memory[0], 6, type, MPI_IN_PLACE, -7, junk, kFakeRank, handles.world), 0);
  EXPECT_EQ(events[4].bytes, uint64_t{kFakeSize} * 24);
}

TEST_F(ShapeTest, IntercommunicatorsHaveTheRemoteGroup) {  // (G8)
  fake_is_inter = true;
  auto type = handle_of<MPI_Datatype>(0x03030303);
  auto comm = handle_of<MPI_Comm>(0x7700);
  EXPECT_EQ(WRAPPER(MPI_Alltoall)(memory[0], 2, type, memory[1], 2, type, comm), 0);
  EXPECT_EQ(events[0].bytes, uint64_t{kFakeRemoteSize} * 8);
  ASSERT_FALSE(definitions.empty());
  EXPECT_EQ(definitions.back().handle, 0x7700u);
  EXPECT_EQ(definitions.back().remote_size, kFakeRemoteSize);
  EXPECT_EQ(WRAPPER(MPI_Bcast)(memory[0], 2, type, MPI_ROOT, comm), 0);
  EXPECT_EQ(events[1].peer, kPeerRoot);
  EXPECT_EQ(events[1].bytes, 8u);
  EXPECT_EQ(WRAPPER(MPI_Bcast)(memory[0], 2, type, MPI_PROC_NULL, comm), 0);
  EXPECT_EQ(events[2].bytes, 0u);
}

TEST_F(ShapeTest, FreedHandlesMeanNothingAndAreDefinedAnew) {  // (G10)
  auto type = handle_of<MPI_Datatype>(0x03030303);
  for (int paused = 0; paused < 2; paused++) {
    auto comm = handle_of<MPI_Comm>(0x8800);
    begin();
    EXPECT_EQ(WRAPPER(MPI_Bcast)(memory[0], 2, type, 0, comm), 0);
    ASSERT_EQ(definitions.size(), 1u);
    process.is_paused = static_cast<uint32_t>(paused);
    EXPECT_EQ(WRAPPER(MPI_Comm_free)(&comm), 0);
    process.is_paused = 0;
    ASSERT_EQ(definitions.size(), 2u);
    EXPECT_EQ(definitions[1].header.kind, DefinitionKind::kCommunicatorFree);
    EXPECT_EQ(recorder.head, paused ? 1u : 2u);
    comm = handle_of<MPI_Comm>(0x8800);
    EXPECT_EQ(WRAPPER(MPI_Bcast)(memory[0], 2, type, 0, comm), 0);
    EXPECT_EQ(definitions.size(), 3u);
    EXPECT_EQ(WRAPPER(MPI_Comm_free)(&comm), 0);
  }
}

TEST_F(ShapeTest, WindowsAreDefinedLikeCommunicators) {
  auto window = handle_of<MPI_Win>(0x9900);
  EXPECT_EQ(WRAPPER(MPI_Win_create)(memory[0], 64, 1, handle_of<MPI_Info>(0), handles.world, &window), 0);
  ASSERT_FALSE(definitions.empty());
  EXPECT_EQ(definitions.back().handle, 0x9900u);
  EXPECT_EQ(definitions.back().size, kFakeSize);
  EXPECT_EQ(definitions.back().call, kCall_MPI_Win_create);
  size_t before = definitions.size();
  EXPECT_EQ(WRAPPER(MPI_Win_fence)(0, window), 0);
  EXPECT_EQ(definitions.size(), before);
  EXPECT_EQ(WRAPPER(MPI_Win_free)(&window), 0);
  EXPECT_EQ(definitions.back().header.kind, DefinitionKind::kCommunicatorFree);
}

TEST_F(ShapeTest, MatchedMessagesNameTheirHandle) {  // (G20)
  auto type = handle_of<MPI_Datatype>(0x03030303);
  auto message = handle_of<MPI_Message>(0x4711);
  MPI_Status status;
  int flag = 0;
  EXPECT_EQ(WRAPPER(MPI_Improbe)(2, 3, handles.world, &flag, &message, &status), 0);
  ASSERT_TRUE(close_polls()) << "nothing was matched";
  EXPECT_EQ(events[0].object, bits_of(handles.world));
  EXPECT_EQ(WRAPPER(MPI_Mprobe)(2, 3, handles.world, &message, &status), 0);
  EXPECT_EQ(events[1].request, 0x4711u);
  EXPECT_EQ(WRAPPER(MPI_Mrecv)(memory[0], 10, type, &message, MPI_STATUS_IGNORE), 0);
  EXPECT_EQ(events[2].object, 0x4711u);
  EXPECT_EQ(events[2].bytes, kFakeBytes);
  auto request = handle_of<MPI_Request>(0x4242);
  EXPECT_EQ(WRAPPER(MPI_Imrecv)(memory[0], 10, type, &message, &request), 0);
  EXPECT_EQ(events[3].object, 0x4711u);
  EXPECT_EQ(events[3].request, 0x4242u);
}

TEST_F(ShapeTest, PcontrolPausesAndResumes) {  // (G22)
  auto control = WRAPPER(MPI_Pcontrol);
  auto send = [] { WRAPPER(MPI_Send)(memory[0], 1, handle_of<MPI_Datatype>(3), 1, 1, handles.world); };
  control(2, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0,
          uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0);
  EXPECT_EQ(recorder.head, 1u);
  EXPECT_EQ(events[0].tag, 2);
  auto call = [&](int level) {
    control(level, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1},
            1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0, uint64_t{1}, 1.0);
  };
  call(0);
  EXPECT_EQ(recorder.head, 2u);
  send();
  call(3);
  EXPECT_EQ(recorder.head, 2u);
  call(1);
  send();
  ASSERT_EQ(recorder.head, 4u);
  EXPECT_EQ(events[2].call, kCall_MPI_Pcontrol);
  EXPECT_EQ(events[3].call, kCall_MPI_Send);
  EXPECT_EQ(seen.size(), 6u);
}

}  // namespace
}  // namespace slurmscope::test
