// Shapes of one-sided communication: what moves between this rank and a target, and its synchronisation.
//
// Event::object is the window, Event::peer the target's rank in it; the drainer makes it a world rank.
// Bytes are what moves between origin and target, counted once, also where data goes both ways. A target
// of MPI_PROC_NULL moves nothing. See shapes.h for the rest.
#pragma once

#include "profiler/mpi/shapes.h"

namespace slurmscope {

template <typename Count>
void describe_access(Event *event, Recording &recording, Count count, MPI_Datatype type, int target, MPI_Win window) {
  event->peer = peer_of(target);
  set_window(event, recording, window);
  if (target != MPI_PROC_NULL) event->bytes = payload(recording, count, type);
}

/// Put and Get(origin, count, type, target, displacement, count, type, window), with a request behind.
struct Put : Regular<Put> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count count, MPI_Datatype type, int target,
                       MPI_Aint, Count, MPI_Datatype, MPI_Win window, Request... request) {
    describe_access(event, recording, count, type, target, window);
    set_request(event, request...);
  }
};

/// Accumulate(origin, count, type, target, displacement, count, type, operation, window).
struct Accumulate : Regular<Accumulate> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count count, MPI_Datatype type, int target,
                       MPI_Aint, Count, MPI_Datatype, MPI_Op, MPI_Win window, Request... request) {
    describe_access(event, recording, count, type, target, window);
    set_request(event, request...);
  }
};

/// Get_accumulate(origin, count, type, result, count, type, target, displacement, count, type, operation,
/// window): with MPI_NO_OP the origin's part means nothing, the result's always does.
struct GetAccumulate : Regular<GetAccumulate> {
  template <typename Count, typename... Request>
  static void describe(Event *event, Recording &recording, const void *, Count, MPI_Datatype, void *, Count count,
                       MPI_Datatype type, int target, MPI_Aint, Count, MPI_Datatype, MPI_Op, MPI_Win window,
                       Request... request) {
    describe_access(event, recording, count, type, target, window);
    set_request(event, request...);
  }
};

/// Fetch_and_op(origin, result, type, target, displacement, operation, window): one element.
struct FetchAndOp : Regular<FetchAndOp> {
  static void describe(Event *event, Recording &recording, const void *, void *, MPI_Datatype type, int target, MPI_Aint,
                       MPI_Op, MPI_Win window) {
    describe_access(event, recording, 1, type, target, window);
  }
};

/// Compare_and_swap(origin, compare, result, type, target, displacement, window): one element.
struct CompareAndSwap : Regular<CompareAndSwap> {
  static void describe(Event *event, Recording &recording, const void *, const void *, void *, MPI_Datatype type,
                       int target, MPI_Aint, MPI_Win window) {
    describe_access(event, recording, 1, type, target, window);
  }
};

/// ..., window.
struct WindowLast : Regular<WindowLast> {
  template <typename... A> static void describe(Event *event, Recording &recording, A... arguments) {
    set_window(event, recording, last_of(arguments...));
  }
};
/// window, ...
struct WindowFirst : Regular<WindowFirst> {
  template <typename... A> static void describe(Event *event, Recording &recording, MPI_Win window, A...) {
    set_window(event, recording, window);
  }
};
/// Win_test(window, flag).
struct TestWindow {
  template <uint16_t id> static int run(int (*real)(MPI_Win, int *), CallSite site, MPI_Win window, int *flag) {
    Recording recording(id);
    int result = real(window, flag);
    if (result == MPI_SUCCESS && !*flag) {
      if (recording.finish_poll(site, bits_of(window))) window_info(recording, window);
    } else if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) set_window(event, recording, window);
      recording.publish();
    }
    return result;
  }
};
/// Win_lock(kind, target, assertion, window).
struct LockTarget : Regular<LockTarget> {
  static void describe(Event *event, Recording &recording, int, int target, int, MPI_Win window) {
    event->peer = peer_of(target);
    set_window(event, recording, window);
  }
};
/// Win_unlock, Win_flush, Win_flush_local(target, window).
struct SyncTarget : Regular<SyncTarget> {
  static void describe(Event *event, Recording &recording, int target, MPI_Win window) {
    event->peer = peer_of(target);
    set_window(event, recording, window);
  }
};

}  // namespace slurmscope
