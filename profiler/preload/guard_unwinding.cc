// What the unwinder calls when an exception, a cancellation or pthread_exit goes through a wrapper: guard.h.
//
// Linked into the preload and into each backend: the unwind tables refer to it. Runs in the throwing thread.
#include "profiler/preload/recorder.h"

namespace slurmscope {

extern "C" int slurmscope_unwinding(int, int actions, uint64_t, void *, void *) {
  constexpr int kCleanupPhase = 2, kContinueUnwind = 8;  // of the C++ ABI: _UA_CLEANUP_PHASE, _URC_CONTINUE_UNWIND
  if ((actions & kCleanupPhase) != 0) thread_local_state()->guard = 0;
  return kContinueUnwind;
}

}  // namespace slurmscope
