// Shapes of the collective routines: blocking, nonblocking, persistent, over groups and neighborhoods.
//
// Bytes are this rank's payload: count x type size of what it passes; all blocks where it passes several;
// what it gets where it passes nothing. Arguments that MPI ignores on this rank (the root's of other
// ranks, types beside MPI_IN_PLACE) are not looked at. See shapes.h for the rest.
#pragma once

#include "profiler/mpi/shapes.h"

namespace slurmscope {

struct Barrier : Regular<Barrier> {
  template <typename... Request>
  static void describe(Event *event, Recording &recording, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    set_request(event, request...);
  }
};

struct Broadcast : Regular<Broadcast> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, void *, Count count, MPI_Datatype type, int root,
                       MPI_Comm comm, Request... request) {
    event->peer = peer_of(root);
    if (root != MPI_PROC_NULL) event->bytes = payload(recording, count, type);
    set_communicator(event, recording, comm);
    set_request(event, request...);
  }
};

struct Reduce : Regular<Reduce> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, void *, Count count, MPI_Datatype type,
                       MPI_Op, int root, MPI_Comm comm, Request... request) {
    event->peer = peer_of(root);
    if (root != MPI_PROC_NULL) event->bytes = payload(recording, count, type);
    set_communicator(event, recording, comm);
    set_request(event, request...);
  }
};

/// Also Scan and Exscan.
struct AllReduce : Regular<AllReduce> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, void *, Count count, MPI_Datatype type,
                       MPI_Op, MPI_Comm comm, Request... request) {
    event->bytes = payload(recording, count, type);
    set_communicator(event, recording, comm);
    set_request(event, request...);
  }
};

template <typename Count> MPI_Count sum_of(const Count *counts, int number) {
  MPI_Count sum = 0;
  for (int i = 0; i < number; i++) sum += counts[i];
  return sum;
}

/// The counts are those of the local group's ranks, also in an intercommunicator.
struct ReduceScatter : Regular<ReduceScatter> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, void *, const Count *counts,
                       MPI_Datatype type, MPI_Op, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = payload(recording, sum_of(counts, communicator_info(recording, comm)->size), type);
    set_request(event, request...);
  }
};

struct ReduceScatterBlock : Regular<ReduceScatterBlock> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, void *, Count count, MPI_Datatype type,
                       MPI_Op, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = payload(recording, MPI_Count{count} * communicator_info(recording, comm)->size, type);
    set_request(event, request...);
  }
};

struct Gather : Regular<Gather> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, Count count, MPI_Datatype type, void *,
                       Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Request... request) {
    event->peer = peer_of(root);
    set_communicator(event, recording, comm);
    if (is_in_place(send)) event->bytes = payload(recording, receive_count, receive_type);  // only at the root
    else if (root != MPI_PROC_NULL && root != MPI_ROOT) event->bytes = payload(recording, count, type);
    set_request(event, request...);
  }
};

struct GatherVector : Regular<GatherVector> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, Count count, MPI_Datatype type, void *,
                       const Count *receive_counts, const Offset *, MPI_Datatype receive_type, int root,
                       MPI_Comm comm, Request... request) {
    event->peer = peer_of(root);
    set_communicator(event, recording, comm);
    if (is_in_place(send))
      event->bytes = payload(recording, receive_counts[communicator_info(recording, comm)->rank], receive_type);
    else if (root != MPI_PROC_NULL && root != MPI_ROOT) event->bytes = payload(recording, count, type);
    set_request(event, request...);
  }
};

/// The root's part of a scatter is significant where `root` is this rank, or MPI_ROOT.
inline bool is_root(Recording &recording, int root, MPI_Comm comm) {
  if (root == MPI_ROOT) return true;
  const CommunicatorInfo *info = communicator_info(recording, comm);
  return info->remote_size == 0 && info->rank == root;
}

struct Scatter : Regular<Scatter> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count count, MPI_Datatype type, void *,
                       Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Request... request) {
    event->peer = peer_of(root);
    set_communicator(event, recording, comm);
    if (is_root(recording, root, comm))
      event->bytes = payload(recording, MPI_Count{count} * communicator_info(recording, comm)->partners(), type);
    else if (root != MPI_PROC_NULL) event->bytes = payload(recording, receive_count, receive_type);
    set_request(event, request...);
  }
};

struct ScatterVector : Regular<ScatterVector> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, const Count *counts, const Offset *,
                       MPI_Datatype type, void *, Count receive_count, MPI_Datatype receive_type, int root,
                       MPI_Comm comm, Request... request) {
    event->peer = peer_of(root);
    set_communicator(event, recording, comm);
    if (is_root(recording, root, comm))
      event->bytes = payload(recording, sum_of(counts, communicator_info(recording, comm)->partners()), type);
    else if (root != MPI_PROC_NULL) event->bytes = payload(recording, receive_count, receive_type);
    set_request(event, request...);
  }
};

struct AllGather : Regular<AllGather> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, Count count, MPI_Datatype type, void *,
                       Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = is_in_place(send) ? payload(recording, receive_count, receive_type) : payload(recording, count, type);
    set_request(event, request...);
  }
};

struct AllGatherVector : Regular<AllGatherVector> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, Count count, MPI_Datatype type, void *,
                       const Count *receive_counts, const Offset *, MPI_Datatype receive_type, MPI_Comm comm,
                       Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = is_in_place(send)
                       ? payload(recording, receive_counts[communicator_info(recording, comm)->rank], receive_type)
                       : payload(recording, count, type);
    set_request(event, request...);
  }
};

struct AllToAll : Regular<AllToAll> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, Count count, MPI_Datatype type, void *,
                       Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    MPI_Count blocks = communicator_info(recording, comm)->partners();
    event->bytes = is_in_place(send) ? payload(recording, blocks * receive_count, receive_type)
                                     : payload(recording, blocks * count, type);
    set_request(event, request...);
  }
};

struct AllToAllVector : Regular<AllToAllVector> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, const Count *counts, const Offset *,
                       MPI_Datatype type, void *, const Count *receive_counts, const Offset *,
                       MPI_Datatype receive_type, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    int blocks = communicator_info(recording, comm)->partners();
    event->bytes = is_in_place(send) ? payload(recording, sum_of(receive_counts, blocks), receive_type)
                                     : payload(recording, sum_of(counts, blocks), type);
    set_request(event, request...);
  }
};

template <typename Count>
uint64_t sum_of_payloads(Recording &recording, const Count *counts, const MPI_Datatype *types, int number) {
  uint64_t sum = 0;
  for (int i = 0; i < number; i++) sum += payload(recording, counts[i], types[i]);
  return sum;
}

struct AllToAllTypes : Regular<AllToAllTypes> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *send, const Count *counts, const Offset *,
                       const MPI_Datatype *types, void *, const Count *receive_counts, const Offset *,
                       const MPI_Datatype *receive_types, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    int blocks = communicator_info(recording, comm)->partners();
    event->bytes = is_in_place(send) ? sum_of_payloads(recording, receive_counts, receive_types, blocks)
                                     : sum_of_payloads(recording, counts, types, blocks);
    set_request(event, request...);
  }
};

/// The places of a neighborhood, without those at a Cartesian grid's edge: nothing is sent to them.
template <typename Bytes> uint64_t sum_over_neighbors(const CommunicatorInfo *info, Bytes bytes) {
  uint64_t sum = 0;
  for (int i = 0; i + 1 < info->neighbors; i++)
    if (i >= 32 || (info->null_neighbors >> i & 1) == 0) sum += bytes(i);
  return sum;
}

struct NeighborAllGatherVector : Regular<NeighborAllGatherVector> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count count, MPI_Datatype type, void *,
                       const Count *, const Offset *, MPI_Datatype, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = payload(recording, count, type);
    set_request(event, request...);
  }
};

struct NeighborAllToAll : Regular<NeighborAllToAll> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count count, MPI_Datatype type, void *, Count,
                       MPI_Datatype, MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = sum_over_neighbors(neighborhood_info(recording, comm), [&](int) { return payload(recording, count, type); });
    set_request(event, request...);
  }
};

struct NeighborAllToAllVector : Regular<NeighborAllToAllVector> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, const Count *counts, const Offset *,
                       MPI_Datatype type, void *, const Count *, const Offset *, MPI_Datatype, MPI_Comm comm,
                       Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = sum_over_neighbors(neighborhood_info(recording, comm),
                                      [&](int i) { return payload(recording, counts[i], type); });
    set_request(event, request...);
  }
};

struct NeighborAllToAllTypes : Regular<NeighborAllToAllTypes> {
  template <typename Count, typename Offset, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, const Count *counts, const Offset *,
                       const MPI_Datatype *types, void *, const Count *, const Offset *, const MPI_Datatype *,
                       MPI_Comm comm, Request... request) {
    set_communicator(event, recording, comm);
    event->bytes = sum_over_neighbors(neighborhood_info(recording, comm),
                                      [&](int i) { return payload(recording, counts[i], types[i]); });
    set_request(event, request...);
  }
};

}  // namespace slurmscope
