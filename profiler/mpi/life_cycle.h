// Shapes of the life cycle: Init, sessions, Finalize, Abort.
//
// Nothing here communicates, neither in MPI_Init nor in MPI_Finalize: what other ranks know is put
// together offline.
#pragma once

#include "profiler/mpi/shapes.h"

namespace slurmscope {

/// Init(argc, argv), Init_thread(argc, argv, required, provided). The ring is made before the real
/// call, so that the I/O of MPI's own start is hidden and the application's right after it is not lost.
struct Initialize {
  template <uint16_t id, typename... A> static int run(int (*real)(A...), CallSite site, A... arguments) {
    Recording recording(id);
    int result = real(arguments...);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) learn_world(recording, event->start, event->end, id);
      recording.publish();
      recorder_link->mpi_initialized();
    }
    return result;
  }
};

struct Finalize {
  template <uint16_t id> static int run(int (*real)(), CallSite site) {
    Recording recording(id);
    ProcessFile *file = recording.recorder() != nullptr ? recorder_link->process_file() : nullptr;
    if (file != nullptr) {
      recorder_link->mpi_finalizing();
      recording.restart();
      file->finalize_start.store(recording.start(), std::memory_order_release);
    }
    end_communicators();
    int result = real();
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (file != nullptr) file->finalize_end.store(event->end, std::memory_order_release);
      recording.publish();
    }
    return result;
  }
};

/// Does not return: its event is written before.
struct Abort {
  template <uint16_t id> static int run(int (*real)(MPI_Comm, int), CallSite site, MPI_Comm comm, int code) {
    Recording recording(id);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, MPI_SUCCESS);
      event->object = bits_of(comm);
      event->tag = code;
      recording.publish();
    }
    return real(comm, code);
  }
};

#if MPI_VERSION >= 4
/// Session_init(info, error handler, session). The ranks of a process without MPI_Init come from here.
struct StartSession {
  template <uint16_t id, typename... A> static int run(int (*real)(A...), CallSite site, A... arguments) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(arguments...);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) learn_session(recording, *last_of(arguments...), event->start, event->end);
      recording.publish();
      recorder_link->mpi_initialized();
    }
    return result;
  }
};

/// Session_finalize(session).
struct EndSession {
  template <uint16_t id> static int run(int (*real)(MPI_Session *), CallSite site, MPI_Session *session) {
    Recording recording(id, 0, WhenPaused::kDefine);
    if (recording.recorder() != nullptr) forget_session(*session);
    recording.restart();
    int result = real(session);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      recording.publish();
    }
    return result;
  }
};
#endif

}  // namespace slurmscope
