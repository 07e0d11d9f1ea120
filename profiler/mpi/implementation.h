// What differs between the two families of MPI: handles, statuses, constants.
//
// Included by the backend's files, each of which is compiled once per mpi.h. No MPI symbol may be
// referred to at link time: in Open MPI the predefined handles are addresses of objects, so they are
// looked up when the backend starts, like every function. Plain data; written once at that time.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "profiler/mpi/backend_link.h"

namespace slurmscope {

/// The MPI functions that the backend itself uses; all of them local, none communicates.
struct MpiFunctions {
#define SLURMSCOPE_OWN_MPI_CALLS(DO)                                                                     \
  DO(Comm_rank) DO(Comm_size) DO(Comm_test_inter) DO(Comm_remote_size) DO(Comm_group)                    \
  DO(Comm_remote_group) DO(Group_rank) DO(Group_size) DO(Group_translate_ranks) DO(Group_free)           \
  DO(Win_get_group) DO(Type_size_x) DO(Topo_test) DO(Cartdim_get) DO(Cart_shift)                         \
  DO(Graph_neighbors_count) DO(Dist_graph_neighbors_count) DO(File_get_byte_offset)                      \
  DO(Get_library_version) DO(Query_thread) DO(Initialized) DO(Finalized)
#define DECLARE(name) decltype(&PMPI_##name) name;
  SLURMSCOPE_OWN_MPI_CALLS(DECLARE)
#undef DECLARE
#if MPI_VERSION >= 4
  decltype(&PMPI_Group_from_session_pset) Group_from_session_pset;  // NULL where the library is older
#endif
};
extern MpiFunctions mpi;

/// Predefined handles of the library in this process.
struct MpiHandles {
  MPI_Comm world, self, null_comm;
  MPI_Datatype null_type;
  MPI_Request null_request;
};
extern MpiHandles handles;

inline uint64_t bits_of(const void *handle) { return reinterpret_cast<uint64_t>(handle); }
inline uint64_t bits_of(int handle) { return static_cast<uint32_t>(handle); }

#if defined(OPEN_MPI)

inline uint64_t received_bytes(const MPI_Status &status) { return status._ucount; }
inline bool was_cancelled(const MPI_Status &status) { return status._cancelled != 0; }

inline bool find_handles(const MpiLibrary *library, MpiHandles *found) {
  found->world = static_cast<MPI_Comm>(library->find_object("ompi_mpi_comm_world"));
  found->self = static_cast<MPI_Comm>(library->find_object("ompi_mpi_comm_self"));
  found->null_comm = static_cast<MPI_Comm>(library->find_object("ompi_mpi_comm_null"));
  found->null_type = static_cast<MPI_Datatype>(library->find_object("ompi_mpi_datatype_null"));
  found->null_request = static_cast<MPI_Request>(library->find_object("ompi_request_null"));
  return found->world != nullptr && found->self != nullptr && found->null_comm != nullptr &&
         found->null_type != nullptr && found->null_request != nullptr;
}

#elif defined(MPICH_VERSION)

inline uint64_t received_bytes(const MPI_Status &status) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(status.count_hi_and_cancelled) >> 1) << 32) |
         static_cast<uint32_t>(status.count_lo);
}
inline bool was_cancelled(const MPI_Status &status) { return (status.count_hi_and_cancelled & 1) != 0; }

inline bool find_handles(const MpiLibrary *, MpiHandles *found) {
  *found = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_REQUEST_NULL};
  return true;
}

#else
#error "an mpi.h of neither Open MPI nor the MPICH family: add its handles and statuses here"
#endif

/// A rank argument or the source of a status as Event::peer.
inline int32_t peer_of(int rank) {
  if (rank >= 0) return rank;
  if (rank == MPI_PROC_NULL) return kPeerProcNull;
  if (rank == MPI_ANY_SOURCE) return kPeerAnySource;
  if (rank == MPI_ROOT) return kPeerRoot;
  return kPeerNone;
}

inline bool is_in_place(const void *buffer) { return buffer == MPI_IN_PLACE; }

}  // namespace slurmscope
