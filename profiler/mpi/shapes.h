// Shapes of the regular routines: what is recorded of which argument.
//
// Named in mpi_calls.def, run by Regular (wrapper.h) after a call that succeeded. Signatures are
// written as templates over the count types, so that the large-count twins fit as well. Bytes are this
// rank's payload: count x type size of what it passes; all blocks where it passes several; what it gets
// where it passes nothing. Arguments that MPI ignores on this rank are not looked at.
#pragma once

#include "profiler/mpi/communicators.h"

namespace slurmscope {

/// The request that a nonblocking twin made: its last argument, if there is one more.
inline void set_request(Event *) {}
inline void set_request(Event *event, MPI_Request *request) { event->request = bits_of(*request); }

struct Send : Regular<Send> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count count, MPI_Datatype type, int peer,
                       int tag, MPI_Comm comm, Request... request) {
    event->flags |= kEventMessage;
    event->peer = peer_of(peer);
    event->tag = tag;
    if (peer != MPI_PROC_NULL) event->bytes = payload(recording, count, type);
    set_communicator(event, recording, comm);
    set_request(event, request...);
  }
};

/// Bytes are known at its completion; the arguments say what was asked for.
struct StartReceive : Regular<StartReceive> {
  template <typename Count>
  static void describe(Event *event, Recording &recording, void *, Count, MPI_Datatype, int peer, int tag,
                       MPI_Comm comm, MPI_Request *request) {
    event->flags |= kEventMessage;
    event->peer = peer_of(peer);
    event->tag = tag;
    set_communicator(event, recording, comm);
    set_request(event, request);
  }
};

/// No message yet: MPI_Start makes it one.
struct PersistentSend : Regular<PersistentSend> {
  template <typename Count>
  static void describe(Event *event, Recording &recording, const void *buffer, Count count, MPI_Datatype type,
                       int peer, int tag, MPI_Comm comm, MPI_Request *request) {
    Send::describe(event, recording, buffer, count, type, peer, tag, comm, request);
    event->flags &= static_cast<uint8_t>(~kEventMessage);
  }
};
struct PersistentReceive : Regular<PersistentReceive> {
  template <typename Count>
  static void describe(Event *event, Recording &recording, void *buffer, Count count, MPI_Datatype type, int peer,
                       int tag, MPI_Comm comm, MPI_Request *request) {
    StartReceive::describe(event, recording, buffer, count, type, peer, tag, comm, request);
    event->flags &= static_cast<uint8_t>(~kEventMessage);
  }
};

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

struct FreeType : Regular<FreeType> {
  template <uint16_t id> static int run(int (*real)(MPI_Datatype *), CallSite site, MPI_Datatype *type) {
    forget_type_sizes();  // before: from the real call on another thread may get the handle anew
    return Regular<FreeType>::run<id>(real, site, type);
  }
  static void describe(Event *, Recording &, MPI_Datatype *) {}
};

}  // namespace slurmscope
