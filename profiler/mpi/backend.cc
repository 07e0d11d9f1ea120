// The backend for one family of MPI: fills the slots with wrappers made from mpi_calls.def.
//
// Compiled once per mpi.h into slurmscope-openmpi.so and slurmscope-mpich.so, loaded with RTLD_LOCAL by
// resolve.cc at the first MPI call. Exports slurmscope_mpi_backend and nothing else; refers to no MPI
// symbol. start() may run in two threads at once and writes the same values.
#include <sys/mman.h>

#include "profiler/mpi/completion.h"
#include "profiler/mpi/irregular.h"
#include "profiler/preload/raw_syscall.h"

namespace slurmscope {

const RecorderLink *recorder_link;
MpiFunctions mpi;
MpiHandles handles;
void *real_functions[kMpiSlotCount];

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
  void *wrapper;
};

template <uint16_t id, bool is_profiling> void *wrapper_of() {
  return reinterpret_cast<void *>(&Wrapper<id, is_profiling, typename Routine<id>::Function>::call);
}

const Slot kSlots[] = {
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
  recorder_link = link;
  mpi = functions;
  handles = found;
  for (size_t i = 0; i < kMpiSlotCount; i++) real_functions[i] = library->find_function(kSlots[i].name);
  for (size_t i = 0; i < kMpiSlotCount; i++) {
    // A routine that this version of the library lacks: nobody can have linked to it.
    void *target = real_functions[i] != nullptr ? kSlots[i].wrapper : reinterpret_cast<void *>(&absent_function);
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
