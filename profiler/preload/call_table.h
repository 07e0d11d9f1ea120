// Ids, names and classes of every intercepted call, expanded from the two tables.
//
// Shared by the preload, the backends and the drainer (which writes them as the trace's call table).
#pragma once

#include <cstdint>

namespace slurmscope {

// Same values as v1::CallClass; the drainer's build checks that.
enum class CallClass : uint8_t {
  kUnknown = 0, kSetup = 1, kSend = 2, kReceive = 3, kSendReceive = 4, kStartSend = 5, kStartReceive = 6,
  kWait = 7, kTest = 8, kProbe = 9, kCollective = 10, kStartCollective = 11, kOneSided = 12,
  kMpiIoData = 13, kMpiIoMetadata = 14, kLocal = 15, kStart = 16, kQuery = 17,
  kOpen = 20, kClose = 21, kRead = 22, kWrite = 23, kSeek = 24, kSync = 25, kMetadata = 26, kMap = 27,
  kSocketConnect = 30, kSocketReceive = 31, kSocketSend = 32,
  kMpiIoOpen = 40, kMpiIoClose = 41, kMpiIoRead = 42, kMpiIoWrite = 43,
};

// MPI_CALL(name, class, ...) in profiler/mpi/mpi_calls.def, IO_CALL(name, class, ...) in
// profiler/io/io_calls.def. Several libc names may record as one (open64 as open): those lines are
// IO_ALIAS(name, recorded_as, ...); one may also record as several: IO_VARIANT(id, class, "name").
enum CallId : uint16_t {
  kCallNone = 0,
#define MPI_CALL(name, ...) kCall_##name,
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
#define IO_CALL(name, ...) kCall_##name,
#define IO_VARIANT(name, ...) kCall_##name,
#define IO_ALIAS(...)
#include "profiler/io/io_calls.def"
#undef IO_CALL
#undef IO_ALIAS
  kCallCount
};

struct CallInfo {
  const char *name;
  CallClass call_class;
};

inline constexpr CallInfo kCallTable[] = {
    {"", CallClass::kUnknown},
#define MPI_CALL(name, call_class, ...) {#name, CallClass::call_class},
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
#define IO_CALL(name, call_class, ...) {#name, CallClass::call_class},
#define IO_VARIANT(name, call_class, text) {text, CallClass::call_class},
#define IO_ALIAS(...)
#include "profiler/io/io_calls.def"
#undef IO_CALL
#undef IO_ALIAS
};
static_assert(sizeof(kCallTable) / sizeof(kCallTable[0]) == kCallCount);

}  // namespace slurmscope
