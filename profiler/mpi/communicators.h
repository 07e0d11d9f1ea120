// Which processes a communicator handle means: definitions for the trace, sizes for the byte counts.
//
// Called by the shapes. The hot path is one look into a cache of the calling thread; a handle that is
// not there is looked up in a table of the process and, if it is new, defined: so a communicator that
// came about in a way that is not intercepted (Comm_get_parent, a session) is known at its first use.
// Only local MPI functions are called. Any thread; no lock; memory is the thread's scratch.
#pragma once

#include "profiler/mpi/wrapper.h"

namespace slurmscope {

struct CommunicatorInfo {
  uint64_t handle;      // bits; 0 = empty
  uint32_t generation;
  int32_t rank, size;
  int32_t remote_size;  // 0: an intracommunicator
  /// How many processes a rank of this one exchanges blocks with.
  int32_t partners() const { return remote_size > 0 ? remote_size : size; }
};

/// Never NULL; all zero if nothing can be learned (before Init, after Finalize).
const CommunicatorInfo *communicator_info(Recording &recording, MPI_Comm handle);

/// Sets Event::object and makes sure that the communicator is defined.
inline void set_communicator(Event *event, Recording &recording, MPI_Comm handle) {
  event->object = bits_of(handle);
  communicator_info(recording, handle);
}

/// Publishes who this process is, and MPI_COMM_WORLD and MPI_COMM_SELF, once; after MPI_Init*.
void learn_world(Recording &recording, uint64_t init_start, uint64_t init_end, uint16_t call);

/// No MPI function may be called from now on.
void end_communicators();

/// A collective constructor over all of `parent` returned; this process got `made` (perhaps null).
void add_communicator(Recording &recording, uint16_t call, MPI_Comm parent, MPI_Comm made);
/// Comm_create_group: only the members took part.
void add_group_communicator(Recording &recording, uint16_t call, MPI_Comm parent, int tag, MPI_Comm made);
/// Intercomm_create: two groups took part that may have no communicator in common.
void add_intercommunicator(Recording &recording, uint16_t call, int tag, MPI_Comm made);

/// Before the real Comm_free: from then on another thread may get the handle anew. Returns what
/// restore_communicator() needs if the real function fails.
struct RemovedCommunicator {
  uint64_t handle, gid;
  uint32_t children;
};
RemovedCommunicator remove_communicator(MPI_Comm handle);
void restore_communicator(const RemovedCommunicator &removed);
/// After the real Comm_free: tells the drainer that the handle meant nothing from `time` on.
void define_freed(uint64_t handle, uint64_t time, uint16_t call);

}  // namespace slurmscope
