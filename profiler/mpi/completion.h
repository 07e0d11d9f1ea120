// Shapes of the routines that end, start or drop requests, and of the ones that return a status.
//
// MPI sets completed request handles to null and may be told to ignore statuses, so both are kept in
// places of our own across the call: on the stack if they are few (threads with small stacks), else in
// the thread's scratch memory. The application's arrays are only read; MPI_STATUS(ES)_IGNORE is never
// touched. One kComplete event per request that ended, behind the call's own event.
#pragma once

#include "profiler/mpi/shapes.h"

namespace slurmscope {

/// What a status says of one message.
inline void describe_status(Event *event, const MPI_Status &status) {
  event->peer = peer_of(status.MPI_SOURCE);
  event->tag = status.MPI_TAG;
  if (was_cancelled(status)) event->flags |= kEventCancelled;
  else if (status.MPI_SOURCE != MPI_PROC_NULL) event->bytes = received_bytes(status);
}

inline void complete(Recording &recording, MPI_Request request, const MPI_Status &status) {
  if (request == handles.null_request) return;
  Event *event = recording.another(EventKind::kComplete);
  if (event == nullptr) return;
  event->flags |= kEventMessage;
  event->request = bits_of(request);
  describe_status(event, status);
  // Of an MPI-IO request some libraries fill nothing but this; the drainer knows which requests those are.
  event->bytes = received_bytes(status);
  recording.publish();
}

/// The call's own event of a wait or test.
inline bool publish_call(Recording &recording, CallSite site, int result) {
  Event *event = recording.finish();
  if (event == nullptr) return false;
  describe_outcome(event, site, result);
  recording.publish();
  return true;
}

/// Copies of requests and room for statuses; empty if the call is not recorded or there is no memory.
class RequestCopies {
 public:
  RequestCopies(Recording &recording, int count, const MPI_Request *requests, bool wants_statuses) {
    if (recording.recorder() == nullptr || count <= 0 || requests == nullptr) return;
    requests_ = few_requests_;
    statuses_ = few_statuses_;
    if (count > kFew) {
      size_t number = static_cast<size_t>(count);
      size_t status_bytes = wants_statuses ? number * sizeof(MPI_Status) : 0;
      auto *memory = static_cast<uint8_t *>(scratch(recording, number * sizeof(MPI_Request) + status_bytes));
      if (memory == nullptr) {
        requests_ = nullptr;
        return;
      }
      requests_ = reinterpret_cast<MPI_Request *>(memory);
      statuses_ = reinterpret_cast<MPI_Status *>(memory + number * sizeof(MPI_Request));
    }
    count_ = count;
    for (int i = 0; i < count; i++) requests_[i] = requests[i];
    recording.restart();
  }
  int count() const { return count_; }
  MPI_Request request(int i) const { return requests_[i]; }
  MPI_Status *statuses() { return statuses_; }

 private:
  static constexpr int kFew = 16;
  MPI_Request few_requests_[kFew];
  MPI_Status few_statuses_[kFew];
  MPI_Request *requests_ = nullptr;
  MPI_Status *statuses_ = nullptr;
  int count_ = 0;
};

/// Wait(request, status), Test(request, flag, status).
struct One {
  template <uint16_t id>
  static int run(int (*real)(MPI_Request *, MPI_Status *), CallSite site, MPI_Request *request, MPI_Status *status) {
    Recording recording(id);
    MPI_Request before = *request;
    MPI_Status own;
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(request, status);
    if (publish_call(recording, site, result) && result == MPI_SUCCESS) complete(recording, before, *status);
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(MPI_Request *, int *, MPI_Status *), CallSite site, MPI_Request *request, int *flag,
                 MPI_Status *status) {
    Recording recording(id);
    MPI_Request before = *request;
    MPI_Status own;
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(request, flag, status);
    if (result == MPI_SUCCESS && !*flag) recording.finish_poll(site);
    else if (publish_call(recording, site, result) && result == MPI_SUCCESS) complete(recording, before, *status);
    return result;
  }
};

/// Waitall(count, requests, statuses), Testall(count, requests, flag, statuses).
struct All {
  static void complete_all(Recording &recording, RequestCopies &copies, const MPI_Status *statuses, int result) {
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) return;
    for (int i = 0; i < copies.count(); i++)
      if (result == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS)
        complete(recording, copies.request(i), statuses[i]);
  }
  template <uint16_t id>
  static int run(int (*real)(int, MPI_Request *, MPI_Status *), CallSite site, int count, MPI_Request *requests,
                 MPI_Status *statuses) {
    Recording recording(id);
    RequestCopies copies(recording, count, requests, statuses == MPI_STATUSES_IGNORE);
    if (copies.count() > 0 && statuses == MPI_STATUSES_IGNORE) statuses = copies.statuses();
    int result = real(count, requests, statuses);
    if (publish_call(recording, site, result)) complete_all(recording, copies, statuses, result);
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(int, MPI_Request *, int *, MPI_Status *), CallSite site, int count,
                 MPI_Request *requests, int *flag, MPI_Status *statuses) {
    Recording recording(id);
    RequestCopies copies(recording, count, requests, statuses == MPI_STATUSES_IGNORE);
    if (copies.count() > 0 && statuses == MPI_STATUSES_IGNORE) statuses = copies.statuses();
    int result = real(count, requests, flag, statuses);
    if (result == MPI_SUCCESS && !*flag) recording.finish_poll(site);
    else if (publish_call(recording, site, result)) complete_all(recording, copies, statuses, result);
    return result;
  }
};

/// Waitany(count, requests, index, status), Testany(count, requests, index, flag, status).
struct Any {
  static void complete_one(Recording &recording, RequestCopies &copies, int index, const MPI_Status &status) {
    if (index >= 0 && index < copies.count()) complete(recording, copies.request(index), status);
  }
  template <uint16_t id>
  static int run(int (*real)(int, MPI_Request *, int *, MPI_Status *), CallSite site, int count,
                 MPI_Request *requests, int *index, MPI_Status *status) {
    Recording recording(id);
    RequestCopies copies(recording, count, requests, false);
    MPI_Status own;
    if (copies.count() > 0 && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(count, requests, index, status);
    if (publish_call(recording, site, result) && result == MPI_SUCCESS && copies.count() > 0)
      complete_one(recording, copies, *index, *status);
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(int, MPI_Request *, int *, int *, MPI_Status *), CallSite site, int count,
                 MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    Recording recording(id);
    RequestCopies copies(recording, count, requests, false);
    MPI_Status own;
    if (copies.count() > 0 && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(count, requests, index, flag, status);
    if (result == MPI_SUCCESS && !*flag) recording.finish_poll(site);
    else if (publish_call(recording, site, result) && result == MPI_SUCCESS && copies.count() > 0)
      complete_one(recording, copies, *index, *status);
    return result;
  }
};

/// Waitsome and Testsome(count, requests, done, indices, statuses).
struct Some {
  template <uint16_t id>
  static int run(int (*real)(int, MPI_Request *, int *, int *, MPI_Status *), CallSite site, int count,
                 MPI_Request *requests, int *done, int *indices, MPI_Status *statuses) {
    Recording recording(id);
    RequestCopies copies(recording, count, requests, statuses == MPI_STATUSES_IGNORE);
    if (copies.count() > 0 && statuses == MPI_STATUSES_IGNORE) statuses = copies.statuses();
    int result = real(count, requests, done, indices, statuses);
    if (kCallTable[id].call_class == CallClass::kTest && result == MPI_SUCCESS && *done == 0) {
      recording.finish_poll(site);
      return result;
    }
    if (!publish_call(recording, site, result) || copies.count() == 0) return result;
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) return result;
    if (*done == MPI_UNDEFINED) return result;
    for (int i = 0; i < *done; i++)
      if ((result == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS) && indices[i] >= 0 &&
          indices[i] < copies.count())
        complete(recording, copies.request(indices[i]), statuses[i]);
    return result;
  }
};

/// Start(request), Startall(count, requests): the persistent request's own event said what it does. One
/// kStart event per request that Startall started, behind the call's own event.
struct Start {
  template <uint16_t id> static int run(int (*real)(MPI_Request *), CallSite site, MPI_Request *request) {
    Recording recording(id);
    int result = real(request);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) event->request = bits_of(*request);
      recording.publish();
    }
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(int, MPI_Request *), CallSite site, int count, MPI_Request *requests) {
    Recording recording(id);
    int result = real(count, requests);
    if (!publish_call(recording, site, result) || result != MPI_SUCCESS) return result;
    for (int i = 0; i < count; i++) {
      Event *event = recording.another(EventKind::kStart);
      if (event == nullptr) break;
      event->request = bits_of(requests[i]);
      recording.publish();
    }
    return result;
  }
};

/// Request_free and Cancel(request).
struct Forget {
  template <uint16_t id> static int run(int (*real)(MPI_Request *), CallSite site, MPI_Request *request) {
    Recording recording(id);
    MPI_Request before = *request;
    int result = real(request);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      event->request = bits_of(before);
      recording.publish();
    }
    return result;
  }
};

/// Request_get_status(request, flag, status), Parrived(request, partition, flag): the request goes on.
struct AskRequest {
  static void publish(Recording &recording, CallSite site, int result, MPI_Request request, const int *flag) {
    if (result == MPI_SUCCESS && !*flag) {
      recording.finish_poll(site);
    } else if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      event->request = bits_of(request);
      recording.publish();
    }
  }
  template <uint16_t id>
  static int run(int (*real)(MPI_Request, int *, MPI_Status *), CallSite site, MPI_Request request, int *flag,
                 MPI_Status *status) {
    Recording recording(id);
    int result = real(request, flag, status);
    publish(recording, site, result, request, flag);
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(MPI_Request, int, int *), CallSite site, MPI_Request request, int partition, int *flag) {
    Recording recording(id);
    int result = real(request, partition, flag);
    publish(recording, site, result, request, flag);
    return result;
  }
};

/// Recv(buffer, count, type, source, tag, comm, status).
struct Receive {
  template <uint16_t id, typename Count>
  static int run(int (*real)(void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *), CallSite site,
                 void *buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    Recording recording(id);
    MPI_Status own;
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(buffer, count, type, source, tag, comm, status);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        event->flags |= kEventMessage;
        describe_status(event, *status);
        set_communicator(event, recording, comm);
      }
      recording.publish();
    }
    return result;
  }
};

/// Sendrecv and Sendrecv_replace: the call's event is the sending half, a kReceive the other one.
struct SendReceive {
  static void publish_receive(Recording &recording, MPI_Comm comm, const MPI_Status &status) {
    Event *event = recording.another(EventKind::kReceive);
    if (event == nullptr) return;
    event->flags |= kEventMessage;
    event->object = bits_of(comm);
    describe_status(event, status);
    recording.publish();
  }
  template <typename Count>
  static bool publish_send(Recording &recording, CallSite site, int result, const void *buffer, Count count,
                           MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    Event *event = recording.finish();
    if (event == nullptr) return false;
    describe_outcome(event, site, result);
    if (result == MPI_SUCCESS) Send::describe(event, recording, buffer, count, type, peer, tag, comm);
    recording.publish();
    return result == MPI_SUCCESS;
  }
  template <uint16_t id, typename Count>
  static int run(int (*real)(const void *, Count, MPI_Datatype, int, int, void *, Count, MPI_Datatype, int, int,
                             MPI_Comm, MPI_Status *),
                 CallSite site, const void *send, Count count, MPI_Datatype type, int peer, int tag, void *receive,
                 Count receive_count, MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                 MPI_Status *status) {
    Recording recording(id);
    MPI_Status own;
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(send, count, type, peer, tag, receive, receive_count, receive_type, source, receive_tag, comm, status);
    if (publish_send(recording, site, result, send, count, type, peer, tag, comm))
      publish_receive(recording, comm, *status);
    return result;
  }
  template <uint16_t id, typename Count>
  static int run(int (*real)(void *, Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *), CallSite site,
                 void *buffer, Count count, MPI_Datatype type, int peer, int tag, int source, int receive_tag,
                 MPI_Comm comm, MPI_Status *status) {
    Recording recording(id);
    MPI_Status own;
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(buffer, count, type, peer, tag, source, receive_tag, comm, status);
    if (publish_send(recording, site, result, buffer, count, type, peer, tag, comm))
      publish_receive(recording, comm, *status);
    return result;
  }
};

/// Probe(source, tag, comm, status), Iprobe(source, tag, comm, flag, status): no message moves.
struct Probe {
  static bool has_found(MPI_Status *) { return true; }
  static bool has_found(const int *flag, MPI_Status *) { return *flag != 0; }
  template <uint16_t id, typename... A>
  static int run(int (*real)(int, int, MPI_Comm, A...), CallSite site, int source, int tag, MPI_Comm comm, A... rest) {
    Recording recording(id);
    int result = real(source, tag, comm, rest...);
    if (result == MPI_SUCCESS && !has_found(rest...)) {
      if (recording.finish_poll(site, bits_of(comm), peer_of(source), tag)) communicator_info(recording, comm);
      return result;
    }
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        event->peer = peer_of(source);
        event->tag = tag;
        set_communicator(event, recording, comm);
      }
      recording.publish();
    }
    return result;
  }
};

}  // namespace slurmscope
