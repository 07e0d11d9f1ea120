// Whose a thread is: the application's, or one that the MPI library (its PMIx, UCX, libfabric) started for itself. Such
// a thread's sockets and pipes are MPI's business, as are those made inside an MPI call.
//
// Asked at the first I/O call of a thread that has no ring, in a process that has called MPI; the answer is kept in
// ThreadLocal. An MPI call makes the thread the application's (attach.cc). Any signal handler; no lock, no errno; memory
// by mmap for the time of the question.
#pragma once

#include "profiler/preload/recorder.h"

namespace slurmscope {

enum ThreadOwner : uint16_t { kOwnerUnknown = 0, kOwnerApplication = 1, kOwnerRuntime = 2 };

/// True if the first function of the calling thread, other than libc's, lies in a library of an MPI implementation. Where
/// the stack cannot be followed to its end, the thread is the application's.
bool is_runtime_thread();

/// True if an object of this path is part of an MPI implementation, or of what it is built on.
bool is_runtime_library(const char *path);

}  // namespace slurmscope
