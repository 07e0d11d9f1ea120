// The backend for one family of MPI: fills the slots with wrappers made from mpi_calls.def.
//
// Compiled once per mpi.h into slurmscope-openmpi.so and slurmscope-mpich.so, loaded with RTLD_LOCAL by
// resolve.cc at the first MPI call. Exports slurmscope_mpi_backend and nothing else; refers to no MPI
// symbol. start() may run in two threads at once and writes the same values.
#include <sys/mman.h>

#include "profiler/mpi/collective_shapes.h"
#include "profiler/mpi/communicator_shapes.h"
#include "profiler/mpi/completion.h"
#include "profiler/mpi/life_cycle.h"
#include "profiler/mpi/matched_receive.h"
#include "profiler/mpi/mpi_io.h"
#include "profiler/mpi/one_sided.h"
#include "profiler/mpi/pause.h"
#include "profiler/mpi/shapes.h"
#include "profiler/preload/raw_syscall.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // of routines that MPI itself calls deprecated

namespace slurmscope {

const RecorderLink *recorder_link;
MpiFunctions mpi;
MpiHandles handles;
void *real_functions[kMpiSlotCount];
const MpiLibrary *mpi_library;

#if MPI_VERSION < 4
#define MPI_CALL_SINCE(version, ...)
#endif
#define MPI_CALL(name, call_class, shape)                \
  template <> struct Routine<kCall_##name> {             \
    using Function = decltype(&P##name);                 \
    using Shape = slurmscope::shape;                     \
  };
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL

namespace {

struct Slot {
  const char *name;
  void *wrapper;  // NULL: mpi.h does not know it
};

template <uint16_t id, bool is_profiling> void *wrapper_of() {
  return reinterpret_cast<void *>(&Wrapper<id, is_profiling, typename Routine<id>::Function>::call);
}

const Slot kSlots[] = {
#if MPI_VERSION < 4
#define MPI_CALL_SINCE(version, name, ...) {#name, nullptr}, {"P" #name, nullptr},
#endif
#define MPI_CALL(name, ...) \
  {#name, wrapper_of<kCall_##name, false>()}, {"P" #name, wrapper_of<kCall_##name, true>()},
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
};
static_assert(sizeof(kSlots) / sizeof(kSlots[0]) == kMpiSlotCount);

int absent_function() { return MPI_ERR_OTHER; }

template <typename Function> bool find(const MpiLibrary *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(library->find_function(name));
  return *function != nullptr;
}

bool start(const RecorderLink *link, const MpiLibrary *library, void **slots) {
  if (link->version != kRingVersion) return false;
  MpiHandles found;
  MpiFunctions functions;
  if (!find_handles(library, &found)) return false;
#define FIND(name) \
  if (!find(library, "PMPI_" #name, &functions.name)) return false;
  SLURMSCOPE_OWN_MPI_CALLS(FIND)
#undef FIND
#if MPI_VERSION >= 4
  find(library, "PMPI_Group_from_session_pset", &functions.Group_from_session_pset);
#endif
  mpi_library = library;
  recorder_link = link;
  mpi = functions;
  handles = found;
  for (size_t i = 0; i < kMpiSlotCount; i++) real_functions[i] = library->find_function(kSlots[i].name);
  for (size_t i = 0; i < kMpiSlotCount; i++) {
    bool is_query = kCallTable[i / 2 + 1].call_class == CallClass::kQuery;
    void *target = is_query && !library->records_queries ? nullptr : kSlots[i].wrapper;
    if (target == nullptr) target = real_functions[i];
    // A routine that this version of the library lacks: nobody can have linked to it.
    if (real_functions[i] == nullptr) target = reinterpret_cast<void *>(&absent_function);
    __atomic_store_n(&slots[i], target, __ATOMIC_RELEASE);
  }
  return true;
}

}  // namespace

void *scratch(Recording &recording, size_t size) {
  ThreadRecorder *recorder = recording.recorder();
  if (size <= recorder->scratch_size) return recorder->scratch;
  size_t rounded = (size + size / 2 + 4095) / 4096 * 4096;
  void *memory = raw::map_memory(rounded);
  if (memory == nullptr) return nullptr;
  if (recorder->scratch != nullptr) raw::unmap(recorder->scratch, recorder->scratch_size);
  recorder->scratch = memory;
  recorder->scratch_size = rounded;
  return memory;
}

}  // namespace slurmscope

extern "C" __attribute__((visibility("default"))) const slurmscope::MpiBackend slurmscope_mpi_backend = {
    slurmscope::kRingVersion, slurmscope::kMpiSlotCount, slurmscope::start};
