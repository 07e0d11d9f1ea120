// See pause.h.
#include "profiler/mpi/pause.h"

// Runs before the real call, so the event has no duration: what tools do with MPI_Pcontrol is their own,
// and MPI itself does nothing. The event is written on the recorded side of the change.
void *slurmscope_before_pcontrol(int level, int is_profiling, const void *caller, const void *stack) {
  using namespace slurmscope;
  void *real = real_functions[2 * (kCall_MPI_Pcontrol - 1) + static_cast<size_t>(is_profiling)];
  if (is_nested()) return real;
  uint32_t *paused = &recorder_link->process->is_paused;
  if (level == 1) __atomic_store_n(paused, 0, __ATOMIC_RELEASE);
  Recording recording(kCall_MPI_Pcontrol);
  if (Event *event = recording.finish()) {
    describe_outcome(event, CallSite{caller, stack}, MPI_SUCCESS);
    event->tag = level;
    recording.publish();
  }
  if (level == 0) __atomic_store_n(paused, 1, __ATOMIC_RELEASE);
  return real;
}
