// Shapes of the routines that need care of their own: life cycle and communicator constructors.
//
// Nothing here communicates, neither in MPI_Init nor in MPI_Finalize: what other ranks know is put
// together offline.
#pragma once

#include "profiler/mpi/communicators.h"

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

template <typename First, typename... Rest> First first_of(First first, Rest...) { return first; }
template <typename Last> Last last_of(Last last) { return last; }
template <typename First, typename... Rest> auto last_of(First, Rest... rest) { return last_of(rest...); }

/// parent, ..., new communicator: collective over the parent.
struct NewCommunicator {
  template <uint16_t id, typename... A> static int run(int (*real)(A...), CallSite site, A... arguments) {
    Recording recording(id);
    int result = real(arguments...);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        set_communicator(event, recording, first_of(arguments...));
        add_communicator(recording, id, first_of(arguments...), *last_of(arguments...));
      }
      recording.publish();
    }
    return result;
  }
};

/// Comm_create_group(parent, group, tag, new communicator).
struct NewGroupCommunicator {
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, MPI_Group, int, MPI_Comm *), CallSite site, MPI_Comm parent, MPI_Group group,
                 int tag, MPI_Comm *made) {
    Recording recording(id);
    int result = real(parent, group, tag, made);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        set_communicator(event, recording, parent);
        add_group_communicator(recording, id, parent, tag, *made);
      }
      recording.publish();
    }
    return result;
  }
};

/// Intercomm_create(local, local leader, peer, remote leader, tag, new communicator).
struct NewIntercommunicator {
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, int, MPI_Comm, int, int, MPI_Comm *), CallSite site, MPI_Comm local,
                 int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made) {
    Recording recording(id);
    int result = real(local, local_leader, peer, remote_leader, tag, made);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        set_communicator(event, recording, local);
        add_intercommunicator(recording, id, tag, *made);
      }
      recording.publish();
    }
    return result;
  }
};

/// Comm_free and Comm_disconnect(communicator).
struct FreeCommunicator {
  template <uint16_t id> static int run(int (*real)(MPI_Comm *), CallSite site, MPI_Comm *comm) {
    Recording recording(id);
    if (recording.recorder() == nullptr) return real(comm);
    uint64_t handle = bits_of(*comm);
    communicator_info(recording, *comm);  // defined, if this is its first use
    RemovedCommunicator removed = remove_communicator(*comm);
    recording.restart();
    int result = real(comm);
    if (result != MPI_SUCCESS) restore_communicator(removed);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      event->object = handle;
      // Valid up to the start of this call, which itself still means the old one.
      if (result == MPI_SUCCESS) define_freed(handle, recording.start() + 1, id);
      recording.publish();
    }
    return result;
  }
};

}  // namespace slurmscope
