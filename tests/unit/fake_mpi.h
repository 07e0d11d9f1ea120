// An MPI library that only logs how it is called, and a recorder whose ring is plain memory.
//
// For the tests of the MPI wrappers, which are compiled once per mpi.h. Each routine of the table has a
// fake of its own signature that logs the arguments as it got them and fills the status it was given; a
// mistake in the table (Testsome forwarded to Waitsome) cannot hide behind an MPI that works.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "profiler/mpi/implementation.h"

extern "C" const slurmscope::MpiBackend slurmscope_mpi_backend;

namespace slurmscope::test {

struct Routine {
  const char *name;   // MPI_X or PMPI_X
  const char *shape;
  bool exists;        // in this mpi.h
};
const Routine &routine_of(size_t slot);
inline size_t slot_of(uint16_t call, bool is_profiling = false) { return 2 * (call - 1u) + is_profiling; }

/// One call that the fake library saw; what fits of each argument in 64 bits.
struct Seen {
  size_t slot;
  std::vector<uint64_t> arguments;
};
extern std::vector<Seen> seen;
extern int outcome;            // what the fake routines return
extern std::string absent;     // a name that the fake library lacks
extern bool records_queries, is_recorded;
extern bool fake_is_inter;     // communicators are intercommunicators with 3 remote processes

// The fake world: this process is rank 1 of 64, every type has 4 bytes, every communicator is a Cartesian
// grid of 2 dimensions at the lower edge of the first, a file's offset counts in elements of 8 bytes.
constexpr int kFakeRank = 1, kFakeSize = 64, kFakeRemoteSize = 3;
constexpr uint32_t kFakeFile = 9;
// What a status says after a call.
constexpr int kFakeSource = 3, kFakeTag = 7;
constexpr uint64_t kFakeBytes = 40;

/// Calls a slot with arguments that hold for every routine: the n-th number (from 0) is n + 1; a pointer
/// to constant numbers leads to 2s; other pointers, and handles that are pointers, lead to zeros.
/// Returns the result and the bits of what was passed.
int call_slot(size_t slot, std::vector<uint64_t> *passed);
extern unsigned char memory[16][4096];  // where the n-th pointer leads

extern Event events[1024];
extern ThreadRecorder recorder;
extern ProcessRecorder process;
extern ProcessFile process_file;
extern thread_local ThreadLocal local;
extern std::vector<CommunicatorDefinition> definitions;
extern void *slots[kMpiSlotCount];

/// The routine's wrapper, with its signature.
#define WRAPPER(name) reinterpret_cast<decltype(&P##name)>(::slurmscope::test::slots[::slurmscope::test::slot_of(kCall_##name)])

/// A handle of the given bits.
template <typename Handle> Handle handle_of(uint64_t bits) {
  Handle handle;
  memcpy(&handle, &bits, sizeof(handle));
  return handle;
}

class FakeMpi : public testing::Test {
 protected:
  void SetUp() override;
  /// Starts the backend anew, as resolve.cc does.
  static void start();
  /// If the last call was a poll that found nothing, makes its row an event; true if it was.
  static bool close_polls();
  /// Forgets what was logged.
  static void begin();
};

}  // namespace slurmscope::test
