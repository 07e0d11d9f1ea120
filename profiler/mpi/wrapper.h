// The one wrapper of all MPI functions, and what every shape needs.
//
// A slot leads to Wrapper<...>::call, which has the signature that mpi.h gives the routine. It forwards
// to the name that was called (MPI_X or PMPI_X) behind us, exactly once, and hands what is to be
// recorded to the routine's shape. Arguments are only looked at after the call succeeded, and only where
// they are significant; buffers never. Any thread; no lock; no allocation but a thread's scratch memory.
#pragma once

#include "profiler/mpi/implementation.h"

namespace slurmscope {

/// The real functions by slot, as void pointers.
extern void *real_functions[kMpiSlotCount];
extern const MpiLibrary *mpi_library;

/// Regular routines derive from this: `Shape::describe(event, recording, arguments...)` fills the event
/// of a call that succeeded.
template <typename Shape> struct Regular {
  template <uint16_t id, typename... A> static int run(int (*real)(A...), CallSite site, A... arguments);
};

inline void describe_outcome(Event *event, CallSite site, int result) {
  event->site = recorder_link->site_id(site);
  if (result != MPI_SUCCESS) event->flags |= kEventFailed;
}

template <typename Shape>
template <uint16_t id, typename... A>
int Regular<Shape>::run(int (*real)(A...), CallSite site, A... arguments) {
  Recording recording(id);
  int result = real(arguments...);
  if (Event *event = recording.finish()) {
    describe_outcome(event, site, result);
    if (result == MPI_SUCCESS) Shape::describe(event, recording, arguments...);
    recording.publish();
  }
  return result;
}

/// `size` bytes that belong to this thread until the next call; NULL: no memory.
void *scratch(Recording &recording, size_t size);

/// Bytes of one element of `type`; 0 if unknown. Remembered per thread until any type is freed.
uint64_t type_size(Recording &recording, MPI_Datatype type);
void forget_type_sizes();

inline uint64_t payload(Recording &recording, MPI_Count count, MPI_Datatype type) {
  return count > 0 ? static_cast<uint64_t>(count) * type_size(recording, type) : 0;
}

/// The routine behind a CallId, specialised for each line of the table (backend.cc).
template <uint16_t id> struct Routine;

template <uint16_t id, bool is_profiling, typename Function> struct Wrapper;
template <uint16_t id, bool is_profiling, typename... A> struct Wrapper<id, is_profiling, int (*)(A...)> {
  static int call(A... arguments) {
    auto real = reinterpret_cast<int (*)(A...)>(real_functions[2 * (id - 1) + is_profiling]);
    if (is_nested()) return real(arguments...);
    return Routine<id>::Shape::template run<id>(
        real, CallSite{__builtin_return_address(0), __builtin_dwarf_cfa()}, arguments...);
  }
};

}  // namespace slurmscope
