// The processes in a communicator or window: as world ranks, as a record for the trace, as a hash.
//
// Used by communicators.cc alone. Only local MPI functions are called; memory is the thread's scratch.
#pragma once

#include "profiler/mpi/communicators.h"

namespace slurmscope {

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}
inline uint64_t nonzero(uint64_t hash) { return hash != 0 ? hash : 1; }

/// Members as one definition with world ranks behind it. In scratch memory, valid until its next use.
struct Members {
  CommunicatorDefinition *definition = nullptr;
  int32_t *local = nullptr, *remote = nullptr;
};

/// The groups of an object: of communicators and windows alike.
struct Groups {
  MPI_Group local, remote;
  bool has_remote = false;
};
bool open_groups_of_communicator(MPI_Comm comm, Groups *groups);
bool open_groups_of_window(MPI_Win window, Groups *groups);

/// In a process without MPI_COMM_WORLD (MPI-4 sessions) ranks are those in this group of its own.
void set_session_world(MPI_Group group);
/// Forgets it and returns what set_session_world() was given; false: there is none.
bool take_session_world(MPI_Group *group);

/// Reads and closes the groups. Sizes and rank are taken from `info`; a process of another world is
/// kPeerForeign. The definition has everything but handle, time, call and ids.
bool read_members(Recording &recording, Groups groups, const CommunicatorInfo &info, Members *members);

/// Equal on both sides of an intercommunicator, whichever of the two groups is the local one.
uint64_t hash_members(const CommunicatorInfo &info, const Members &members);

/// Name of the n-th child of a communicator: the same on all of its members, since they all make its
/// children in the same order; the first member's world rank tells the parts of a split apart. Of an
/// intercommunicator both groups take part, and which is local depends on the side.
uint64_t child_gid(uint64_t parent, uint32_t number, const CommunicatorInfo &info, const Members &members);

}  // namespace slurmscope
