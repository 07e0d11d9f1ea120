// The seam between the preload and the MPI backends (slurmscope-openmpi.so, slurmscope-mpich.so).
//
// resolve.cc (preload) loads the backend that belongs to the MPI it found in the process and gives it
// the recorder and the way to the real functions; the backend fills the slots behind the thunks.
// Read by both sides; plain data, libc only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/preload/call_table.h"
#include "profiler/preload/recorder.h"
#include "proto/version.h"

namespace slurmscope {

/// MPI functions come first in CallId: slot 2*i is MPI_X and 2*i+1 PMPI_X of CallId i+1.
constexpr size_t kMpiCallCount = 0
#define MPI_CALL(...) +1
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
    ;
constexpr size_t kMpiSlotCount = 2 * kMpiCallCount;

/// The MPI library of this process.
struct MpiLibrary {
  /// The function of that name behind the preload (perhaps another tool's); NULL if there is none.
  void *(*find_function)(const char *name);
  /// The address of one of the library's objects, such as a predefined handle.
  void *(*find_object)(const char *name);
  /// The id of the file at `path`, defined for the trace; 0 if it has none. NULL: nobody knows files.
  uint32_t (*file_id)(const char *path);
  /// True if routines of class kQuery are to be recorded.
  bool records_queries;
};

/// Exported by each backend as `slurmscope_mpi_backend`.
struct MpiBackend {
  uint32_t version;  // kRingVersion
  size_t slots;      // kMpiSlotCount
  /// Fills the slots of all functions: with the wrapper; with the library's own function if it is a query
  /// or the backend's mpi.h did not know it; with a failing function if the library lacks it. Two threads may run it at once: it must
  /// write the same values again. False: this backend does not fit; the slots are untouched.
  bool (*start)(const RecorderLink *link, const MpiLibrary *library, void **slots);
};

}  // namespace slurmscope
