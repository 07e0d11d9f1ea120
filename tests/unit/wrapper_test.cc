// Each wrapper calls the function of its own name, once, with the arguments it was given, and leaves one
// event of its own id. Of every routine in the table, on both mpi.h.
#include <algorithm>
#include <cstring>
#include <unistd.h>

#include "tests/unit/fake_mpi.h"

namespace slurmscope::test {
namespace {

bool is_finalize(size_t slot) { return slot / 2 == kCall_MPI_Finalize - 1; }
bool is_query(size_t slot) { return kCallTable[slot / 2 + 1].call_class == CallClass::kQuery; }

struct WrapperTest : FakeMpi {
  std::vector<uint64_t> passed;

  /// Runs `check` with every slot but Finalize's.
  template <typename Check> void for_each_slot(Check check) {
    for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
      if (is_finalize(slot)) continue;
      begin();
      check(slot, routine_of(slot).name);
    }
  }
  void expect_own_call(size_t slot, const char *name) {
    ASSERT_EQ(seen.size(), 1u) << name;
    EXPECT_EQ(seen[0].slot, slot) << name << " called " << routine_of(seen[0].slot).name;
    EXPECT_EQ(seen[0].arguments, passed) << name;
    EXPECT_EQ(local.guard, 0u) << name;
  }
  void expect_own_event(size_t slot, const char *name) {
    expect_own_call(slot, name);
    bool is_poll = close_polls();  // with every flag unset the polls find nothing
    ASSERT_GE(recorder.head, 1u) << name;
    EXPECT_EQ(events[0].call, slot / 2 + 1) << name;
    EXPECT_STREQ(kCallTable[events[0].call].name, routine_of(slot / 2 * 2).name);
    EXPECT_EQ(events[0].site, 5u) << name;
    EXPECT_LE(events[0].start, events[0].end) << name;
    EXPECT_EQ(events[0].flags & kEventFailed, 0) << name;
    EventKind kind = is_poll ? EventKind::kPolls : EventKind::kCall;
    for (uint64_t i = 0; i < recorder.head; i++) EXPECT_EQ(events[i].kind == kind, i == 0) << name;
    if (is_poll) {
      EXPECT_EQ(events[0].request, 1u) << name;
    }
  }
};

TEST_F(WrapperTest, EachCallsItsOwnFunctionOnceAndLeavesItsOwnEvent) {
  records_queries = true;
  start();
  for_each_slot([&](size_t slot, const char *name) {
    EXPECT_EQ(call_slot(slot, &passed), 0) << name;
    if (routine_of(slot).exists) expect_own_event(slot, name);
    else expect_own_call(slot, name);  // unknown to this mpi.h: the library's own, straight through
  });
}

// What the arguments point to is after the call as the library itself leaves it: outputs, statuses, requests.
TEST_F(WrapperTest, WhatArgumentsPointToIsLeftAlone) {
  records_queries = true;
  start();
  auto leave = [&](size_t slot, bool is_nested) {
    begin();
    local.guard = is_nested ? ~uintptr_t{0} : 0;  // nested: straight to the library
    EXPECT_EQ(call_slot(slot, &passed), 0);
    local.guard = 0;
    auto *bytes = reinterpret_cast<const unsigned char *>(memory);
    return std::vector<unsigned char>(bytes, bytes + sizeof(memory));
  };
  size_t filled = 0;
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    if (is_finalize(slot) || !routine_of(slot).exists) continue;
    std::vector<unsigned char> alone = leave(slot, true), recorded = leave(slot, false);
    EXPECT_TRUE(alone == recorded) << routine_of(slot).name;
    filled += std::any_of(alone.begin(), alone.end(), [](unsigned char byte) { return byte != 0; });
  }
  EXPECT_GT(filled, 100u) << "the fake library fills the statuses it is given";
}

// Every routine is in one of the ways that the tests above go: none is passed over.
TEST_F(WrapperTest, EveryRoutineOfTheTableIsThere) {
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    EXPECT_NE(slots[slot], nullptr) << routine_of(slot).name;
    if (MPI_VERSION >= 4) {
      EXPECT_TRUE(routine_of(slot).exists) << routine_of(slot).name;
    }
  }
}

TEST_F(WrapperTest, QueriesLeaveNothingUnlessAskedFor) {
  size_t queries = 0;
  for_each_slot([&](size_t slot, const char *name) {
    if (!is_query(slot)) return;
    queries++;
    EXPECT_EQ(call_slot(slot, &passed), 0) << name;
    expect_own_call(slot, name);
    EXPECT_EQ(recorder.head, 0u) << name;
  });
  EXPECT_GT(queries, 200u);
}

TEST_F(WrapperTest, AnErrorIsPassedOnAndMarked) {
  outcome = 5;
  records_queries = true;
  start();
  for_each_slot([&](size_t slot, const char *name) {
    EXPECT_EQ(call_slot(slot, &passed), 5) << name;
    expect_own_call(slot, name);
    if (!routine_of(slot).exists) return;
    // Their events are written before the call.
    if (slot / 2 + 1 == kCall_MPI_Abort || slot / 2 + 1 == kCall_MPI_Pcontrol) return;
    ASSERT_EQ(recorder.head, 1u) << name;
    EXPECT_EQ(events[0].flags, kEventFailed) << name;
    EXPECT_EQ(events[0].bytes, 0u) << name;
  });
}

TEST_F(WrapperTest, NestedCallsPassThrough) {
  local.guard = ~uintptr_t{0};
  for_each_slot([&](size_t slot, const char *name) {
    EXPECT_EQ(call_slot(slot, &passed), 0) << name;
    ASSERT_EQ(seen.size(), 1u) << name;
    EXPECT_EQ(seen[0].slot, slot) << name;
    EXPECT_EQ(seen[0].arguments, passed) << name;
    EXPECT_EQ(recorder.head, 0u) << name;
    EXPECT_EQ(local.guard, ~uintptr_t{0}) << name;
  });
}

TEST_F(WrapperTest, UnrecordedThreadsPassThrough) {
  is_recorded = false;
  local.recorder = nullptr;
  for_each_slot([&](size_t slot, const char *name) {
    EXPECT_EQ(call_slot(slot, &passed), 0) << name;
    expect_own_call(slot, name);
    EXPECT_EQ(recorder.head, 0u) << name;
  });
}

TEST_F(WrapperTest, PausedCallsPassThrough) {
  process.is_paused = 1;
  records_queries = true;
  start();
  for_each_slot([&](size_t slot, const char *name) {
    EXPECT_EQ(call_slot(slot, &passed), 0) << name;
    expect_own_call(slot, name);
    EXPECT_EQ(recorder.head, 0u) << name;
  });
}

TEST_F(WrapperTest, AFunctionThatTheLibraryLacksReturnsAnError) {
  absent = "PMPI_Ibarrier";
  start();
  begin();
  EXPECT_NE(call_slot(slot_of(kCall_MPI_Ibarrier, true), &passed), 0);
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(call_slot(slot_of(kCall_MPI_Ibarrier), &passed), 0);
}

// In a process of its own: after MPI_Finalize the backend asks MPI nothing any more.
TEST_F(WrapperTest, Finalize) {
  auto finalize = [this] {
    for (size_t slot : {slot_of(kCall_MPI_Finalize), slot_of(kCall_MPI_Finalize, true)}) {
      begin();
      EXPECT_EQ(call_slot(slot, &passed), 0);
      expect_own_event(slot, routine_of(slot).name);
      EXPECT_NE(process_file.finalize_start, 0u);
      EXPECT_EQ(process_file.finalize_end, events[0].end);
    }
    // What is called later is recorded, but MPI is not asked about its arguments.
    begin();
    EXPECT_EQ(call_slot(slot_of(kCall_MPI_Send), &passed), 0);
    EXPECT_EQ(events[0].bytes, 0u);
    _exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(finalize(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace slurmscope::test
