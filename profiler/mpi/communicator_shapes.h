// Shapes of the routines that make and free communicators, windows and links to other worlds.
//
// They do their definitions also while recording is paused: a handle that was freed and given anew
// meanwhile would else keep its old meaning. See shapes.h for the rest.
#pragma once

#include "profiler/mpi/shapes.h"

namespace slurmscope {

/// The call's own event; what `define(event, recording)` adds, if the call succeeded.
template <typename Define>
void publish_constructor(Recording &recording, CallSite site, int result, Define define) {
  Event *event = recording.finish();
  if (event == nullptr) return;
  describe_outcome(event, site, result);
  if (result == MPI_SUCCESS) define(event);
  recording.publish();
}

/// parent, ..., new communicator: collective over the parent.
struct NewCommunicator {
  template <uint16_t id, typename... A> static int run(int (*real)(A...), CallSite site, A... arguments) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(arguments...);
    publish_constructor(recording, site, result, [&](Event *event) {
      set_communicator(event, recording, first_of(arguments...));
      add_communicator(recording, id, first_of(arguments...), *last_of(arguments...));
    });
    return result;
  }
};

/// Comm_idup(parent, new communicator, request), with info before. Where the new handle is there at once
/// it is defined at once; where it comes with the completion, at its first use.
struct StartNewCommunicator {
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, MPI_Comm *, MPI_Request *), CallSite site, MPI_Comm parent, MPI_Comm *made,
                 MPI_Request *request) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(parent, made, request);
    publish(recording, id, site, result, parent, made, request);
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *), CallSite site, MPI_Comm parent,
                 MPI_Info info, MPI_Comm *made, MPI_Request *request) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(parent, info, made, request);
    publish(recording, id, site, result, parent, made, request);
    return result;
  }
  static void publish(Recording &recording, uint16_t id, CallSite site, int result, MPI_Comm parent, MPI_Comm *made,
                      MPI_Request *request) {
    publish_constructor(recording, site, result, [&](Event *event) {
      set_communicator(event, recording, parent);
      add_communicator(recording, id, parent, bits_of(*made) != 0 ? *made : handles.null_comm);
      event->request = bits_of(*request);
    });
  }
};

/// Comm_create_group(parent, group, tag, new communicator): only the group takes part.
struct NewGroupCommunicator {
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, MPI_Group, int, MPI_Comm *), CallSite site, MPI_Comm parent, MPI_Group group,
                 int tag, MPI_Comm *made) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(parent, group, tag, made);
    publish_constructor(recording, site, result, [&](Event *event) {
      set_communicator(event, recording, parent);
      add_tagged_communicator(recording, id, bits_of(parent), static_cast<uint64_t>(tag), *made);
    });
    return result;
  }
};

/// Intercomm_create(local, local leader, peer, remote leader, tag, new communicator).
struct NewIntercommunicator {
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, int, MPI_Comm, int, int, MPI_Comm *), CallSite site, MPI_Comm local,
                 int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(local, local_leader, peer, remote_leader, tag, made);
    publish_constructor(recording, site, result, [&](Event *event) {
      set_communicator(event, recording, local);
      add_tagged_communicator(recording, id, 0, static_cast<uint64_t>(tag), *made);
    });
    return result;
  }
};

/// Comm_create_from_group(group, name, info, error handler, new communicator).
struct NewFromGroup {
  template <uint16_t id, typename... A>
  static int run(int (*real)(MPI_Group, const char *, A...), CallSite site, MPI_Group group, const char *name, A... rest) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(group, name, rest...);
    publish_constructor(recording, site, result, [&](Event *) {
      add_tagged_communicator(recording, id, 0, tag_of_text(name), *last_of(rest...));
    });
    return result;
  }
};

/// Intercomm_create_from_groups(local, leader, remote, leader, name, info, error handler, new communicator).
struct NewFromGroups {
  template <uint16_t id, typename... A>
  static int run(int (*real)(MPI_Group, int, MPI_Group, int, const char *, A...), CallSite site, MPI_Group local,
                 int local_leader, MPI_Group remote, int remote_leader, const char *name, A... rest) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(local, local_leader, remote, remote_leader, name, rest...);
    publish_constructor(recording, site, result, [&](Event *) {
      add_tagged_communicator(recording, id, 0, tag_of_text(name), *last_of(rest...));
    });
    return result;
  }
};

/// Comm_spawn and Comm_spawn_multiple(..., root, comm, new intercommunicator, codes).
struct Spawn {
  static void define(Event *event, Recording &recording, uint16_t id, int root, MPI_Comm comm, MPI_Comm *made) {
    event->peer = peer_of(root);
    set_communicator(event, recording, comm);
    add_communicator(recording, id, comm, *made);
  }
  template <uint16_t id>
  static int run(int (*real)(const char *, char **, int, MPI_Info, int, MPI_Comm, MPI_Comm *, int *), CallSite site,
                 const char *command, char **arguments, int processes, MPI_Info info, int root, MPI_Comm comm,
                 MPI_Comm *made, int *codes) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(command, arguments, processes, info, root, comm, made, codes);
    publish_constructor(recording, site, result, [&](Event *event) { define(event, recording, id, root, comm, made); });
    return result;
  }
  template <uint16_t id>
  static int run(int (*real)(int, char **, char ***, const int *, const MPI_Info *, int, MPI_Comm, MPI_Comm *, int *),
                 CallSite site, int count, char **commands, char ***arguments, const int *processes,
                 const MPI_Info *infos, int root, MPI_Comm comm, MPI_Comm *made, int *codes) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(count, commands, arguments, processes, infos, root, comm, made, codes);
    publish_constructor(recording, site, result, [&](Event *event) { define(event, recording, id, root, comm, made); });
    return result;
  }
};

/// Comm_accept and Comm_connect(port, info, root, comm, new intercommunicator).
struct Connect {
  template <uint16_t id>
  static int run(int (*real)(const char *, MPI_Info, int, MPI_Comm, MPI_Comm *), CallSite site, const char *port,
                 MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(port, info, root, comm, made);
    publish_constructor(recording, site, result,
                        [&](Event *event) { Spawn::define(event, recording, id, root, comm, made); });
    return result;
  }
};

/// What Comm_free and Win_free do around the real call.
template <typename Handle, typename Define>
int free_handle(uint16_t id, int (*real)(Handle *), CallSite site, Handle *object, Define define_first) {
  Recording recording(id, 0, WhenPaused::kDefine);
  uint64_t handle = bits_of(*object);
  if (recording.recorder() != nullptr) define_first(recording);  // if this is its first use
  RemovedHandle removed = remove_handle(handle);
  recording.restart();
  int result = real(object);
  if (result != MPI_SUCCESS) restore_handle(removed);
  publish_constructor(recording, site, result, [&](Event *event) {
    event->object = handle;
    // Valid up to the start of this call, which itself still means the old one.
    define_freed(handle, recording.start() + 1, id);
  });
  return result;
}

/// Comm_free and Comm_disconnect(communicator).
struct FreeCommunicator {
  template <uint16_t id> static int run(int (*real)(MPI_Comm *), CallSite site, MPI_Comm *comm) {
    return free_handle(id, real, site, comm, [comm](Recording &recording) { communicator_info(recording, *comm); });
  }
};

/// Win_free(window).
struct FreeWindow {
  template <uint16_t id> static int run(int (*real)(MPI_Win *), CallSite site, MPI_Win *window) {
    return free_handle(id, real, site, window, [window](Recording &recording) { window_info(recording, *window); });
  }
};

/// Win_create and Win_create_dynamic(..., comm, new window).
struct NewWindow {
  template <uint16_t id, typename... A> static int run(int (*real)(A...), CallSite site, A... arguments) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(arguments...);
    publish_constructor(recording, site, result, [&](Event *event) { define(event, recording, id, arguments...); });
    return result;
  }
  static void define(Event *event, Recording &recording, uint16_t id, MPI_Comm comm, MPI_Win *made) {
    set_communicator(event, recording, comm);
    add_window(recording, id, comm, *made);
  }
  template <typename First, typename... Rest>
  static void define(Event *event, Recording &recording, uint16_t id, First, Rest... rest) {
    define(event, recording, id, rest...);
  }
};

/// Win_allocate and Win_allocate_shared(size, unit, info, comm, base, new window).
struct NewMemoryWindow {
  template <uint16_t id, typename Unit>
  static int run(int (*real)(MPI_Aint, Unit, MPI_Info, MPI_Comm, void *, MPI_Win *), CallSite site, MPI_Aint size,
                 Unit unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *made) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(size, unit, info, comm, base, made);
    publish_constructor(recording, site, result, [&](Event *event) { NewWindow::define(event, recording, id, comm, made); });
    return result;
  }
};

}  // namespace slurmscope
