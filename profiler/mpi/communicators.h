// Which processes a communicator or window handle means: definitions for the trace, sizes for bytes.
//
// Called by the shapes. The hot path is one look into a cache of the calling thread; a handle that is
// not there is looked up in a table of the process and, if it is new, defined: so a communicator that
// came about in a way that is not intercepted (Comm_get_parent, an idup) is known at its first use.
// Windows are treated like communicators: the same definitions, cache and table. Only local MPI
// functions are called. Any thread; no lock; memory is the thread's scratch.
#pragma once

#include "profiler/mpi/wrapper.h"

namespace slurmscope {

struct CommunicatorInfo {
  uint64_t handle;      // bits; 0 = empty
  uint32_t generation;
  int32_t rank, size;
  int32_t remote_size;  // 0: an intracommunicator
  int32_t neighbors;    // that this process sends to in a neighborhood collective, plus 1; 0: not asked yet
  uint32_t null_neighbors;  // bit i: the i-th of them is MPI_PROC_NULL (a Cartesian grid's edge)
  /// How many processes a rank of this one exchanges blocks with.
  int32_t partners() const { return remote_size > 0 ? remote_size : size; }
};

/// Never NULL; all zero if nothing can be learned (before Init, after Finalize).
const CommunicatorInfo *communicator_info(Recording &recording, MPI_Comm handle);
/// The same with `neighbors` and `null_neighbors` known.
const CommunicatorInfo *neighborhood_info(Recording &recording, MPI_Comm handle);
const CommunicatorInfo *window_info(Recording &recording, MPI_Win handle);

/// Sets Event::object and makes sure that the communicator is defined.
inline void set_communicator(Event *event, Recording &recording, MPI_Comm handle) {
  event->object = bits_of(handle);
  communicator_info(recording, handle);
}
inline void set_window(Event *event, Recording &recording, MPI_Win handle) {
  event->object = bits_of(handle);
  window_info(recording, handle);
}

/// Publishes who this process is, and MPI_COMM_WORLD and MPI_COMM_SELF, once; after MPI_Init*.
void learn_world(Recording &recording, uint64_t init_start, uint64_t init_end, uint16_t call);
#if MPI_VERSION >= 4
/// The same in a process that has only sessions: its ranks are those of the set "mpi://WORLD".
void learn_session(Recording &recording, MPI_Session session, uint64_t init_start, uint64_t init_end);
/// Before the real Session_finalize.
void forget_session(MPI_Session session);
#endif

/// No MPI function may be called from now on.
void end_communicators();

/// A collective constructor over all of `parent` returned; this process got `made` (perhaps null).
void add_communicator(Recording &recording, uint16_t call, MPI_Comm parent, MPI_Comm made);
void add_window(Recording &recording, uint16_t call, MPI_Comm parent, MPI_Win made);
/// Only the members took part, and `tag` tells them apart: Comm_create_group and Comm_create_from_group
/// (parent 0), Intercomm_create and Intercomm_create_from_groups (parent 0).
void add_tagged_communicator(Recording &recording, uint16_t call, uint64_t parent, uint64_t tag, MPI_Comm made);
uint64_t tag_of_text(const char *text);

/// Before the real Comm_free or Win_free: from then on another thread may get the handle anew. Returns
/// what restore_handle() needs if the real function fails.
struct RemovedHandle {
  uint64_t handle, gid;
  uint32_t children;
};
RemovedHandle remove_handle(uint64_t handle);
void restore_handle(const RemovedHandle &removed);
/// After the real Comm_free: tells the drainer that the handle meant nothing from `time` on.
void define_freed(uint64_t handle, uint64_t time, uint16_t call);

}  // namespace slurmscope
