// Shapes of the regular point-to-point routines: what is recorded of which argument.
//
// Named in mpi_calls.def, run by Regular (wrapper.h) after a call that succeeded. Signatures are
// written as templates over the count types, so that the large-count twins fit as well. Arguments that
// MPI ignores on this rank are not looked at.
#pragma once

#include "profiler/mpi/communicators.h"

namespace slurmscope {

/// The request that a nonblocking twin made: its last argument, if there is one more.
inline void set_request(Event *) {}
inline void set_request(Event *event, MPI_Request *request) { event->request = bits_of(*request); }
/// Of an MPI-4 *_init routine.
inline void set_request(Event *event, MPI_Info, MPI_Request *request) { event->request = bits_of(*request); }

template <typename First, typename... Rest> First first_of(First first, Rest...) { return first; }
template <typename Last> Last last_of(Last last) { return last; }
template <typename First, typename... Rest> auto last_of(First, Rest... rest) { return last_of(rest...); }

/// Nothing but that it was called.
struct CallOnly : Regular<CallOnly> {
  template <typename... A> static void describe(Event *, Recording &, A...) {}
};

/// communicator, ...
struct CommunicatorFirst : Regular<CommunicatorFirst> {
  template <typename... A> static void describe(Event *event, Recording &recording, MPI_Comm comm, A...) {
    set_communicator(event, recording, comm);
  }
};

/// request, ...; the request goes on.
struct NamesRequest : Regular<NamesRequest> {
  template <typename... A> static void describe(Event *event, Recording &, MPI_Request request, A...) {
    event->request = bits_of(request);
  }
};
struct NamesRequestLast : Regular<NamesRequestLast> {
  template <typename... A> static void describe(Event *event, Recording &, A... arguments) {
    event->request = bits_of(last_of(arguments...));
  }
};
/// Grequest_start(..., request): completed by the application's own means.
struct StartGeneralized : Regular<StartGeneralized> {
  template <typename... A> static void describe(Event *event, Recording &, A... arguments) {
    event->request = bits_of(*last_of(arguments...));
  }
};

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

/// Psend_init, Precv_init(buffer, partitions, count, type, peer, tag, comm, info, request): a message of all
/// partitions per start.
struct PartitionedSend : Regular<PartitionedSend> {
  static void describe(Event *event, Recording &recording, const void *buffer, int partitions, MPI_Count count,
                       MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Info, MPI_Request *request) {
    PersistentSend::describe(event, recording, buffer, count * partitions, type, peer, tag, comm, request);
  }
};
struct PartitionedReceive : Regular<PartitionedReceive> {
  static void describe(Event *event, Recording &recording, void *buffer, int, MPI_Count count, MPI_Datatype type,
                       int peer, int tag, MPI_Comm comm, MPI_Info, MPI_Request *request) {
    PersistentReceive::describe(event, recording, buffer, count, type, peer, tag, comm, request);
  }
};

/// Isendrecv, Isendrecv_replace: the call is the sending half, its completion the receiving one.
struct StartSendReceive : Regular<StartSendReceive> {
  template <typename Count>
  static void describe(Event *event, Recording &recording, const void *send, Count count, MPI_Datatype type, int peer,
                       int tag, void *, Count, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request *request) {
    Send::describe(event, recording, send, count, type, peer, tag, comm, request);
  }
  template <typename Count>
  static void describe(Event *event, Recording &recording, void *buffer, Count count, MPI_Datatype type, int peer,
                       int tag, int, int, MPI_Comm comm, MPI_Request *request) {
    Send::describe(event, recording, buffer, count, type, peer, tag, comm, request);
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
