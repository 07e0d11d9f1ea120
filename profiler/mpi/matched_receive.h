// Shapes of the matched probes and of the receives that take what they matched.
//
// The message handle carries the message from one to the other, and a status names the source as a rank
// in the probe's communicator: the probe's event gives the handle as its request, the receive's as its
// object, and the drainer puts them together. See completion.h for statuses.
#pragma once

#include "profiler/mpi/completion.h"

namespace slurmscope {

/// Mprobe(source, tag, comm, message, status), Improbe(source, tag, comm, flag, message, status).
struct MatchedProbe {
  template <uint16_t id>
  static int run(int (*real)(int, int, MPI_Comm, MPI_Message *, MPI_Status *), CallSite site, int source, int tag,
                 MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    Recording recording(id);
    int result = real(source, tag, comm, message, status);
    publish(recording, site, result, source, tag, comm, result == MPI_SUCCESS ? message : nullptr);
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(int, int, MPI_Comm, int *, MPI_Message *, MPI_Status *), CallSite site, int source,
                 int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
    Recording recording(id);
    int result = real(source, tag, comm, flag, message, status);
    if (result == MPI_SUCCESS && !*flag) {
      if (recording.finish_poll(site, bits_of(comm), peer_of(source), tag)) communicator_info(recording, comm);
      return result;
    }
    publish(recording, site, result, source, tag, comm, result == MPI_SUCCESS ? message : nullptr);
    return result;
  }
  static void publish(Recording &recording, CallSite site, int result, int source, int tag, MPI_Comm comm,
                      const MPI_Message *message) {
    Event *event = recording.finish();
    if (event == nullptr) return;
    describe_outcome(event, site, result);
    if (result == MPI_SUCCESS) {
      event->peer = peer_of(source);
      event->tag = tag;
      set_communicator(event, recording, comm);
      if (message != nullptr) event->request = bits_of(*message);
    }
    recording.publish();
  }
};

/// Mrecv(buffer, count, type, message, status).
struct MatchedReceive {
  template <uint16_t id, typename Count>
  static int run(int (*real)(void *, Count, MPI_Datatype, MPI_Message *, MPI_Status *), CallSite site, void *buffer,
                 Count count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
    Recording recording(id);
    MPI_Message before = *message;
    MPI_Status own;
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(buffer, count, type, message, status);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        event->flags |= kEventMessage;
        describe_status(event, *status);
      }
      event->object = bits_of(before);
      recording.publish();
    }
    return result;
  }
};

/// Imrecv(buffer, count, type, message, request).
struct StartMatchedReceive {
  template <uint16_t id, typename Count>
  static int run(int (*real)(void *, Count, MPI_Datatype, MPI_Message *, MPI_Request *), CallSite site, void *buffer,
                 Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
    Recording recording(id);
    MPI_Message before = *message;
    int result = real(buffer, count, type, message, request);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      event->object = bits_of(before);
      if (result == MPI_SUCCESS) event->request = bits_of(*request);
      recording.publish();
    }
    return result;
  }
};

}  // namespace slurmscope
