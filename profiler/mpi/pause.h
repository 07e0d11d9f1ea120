// MPI_Pcontrol: level 0 pauses recording in this process, level 1 resumes it; other levels mean nothing
// to us. See pcontrol_x86_64.S, which hands all arguments on untouched.
#pragma once

#include "profiler/mpi/wrapper.h"

namespace slurmscope {

/// The shape of MPI_Pcontrol: its wrapper is not made from Wrapper, because nobody can forward `...`.
struct Control {};

}  // namespace slurmscope

extern "C" {
__attribute__((visibility("hidden"))) int slurmscope_pcontrol(int level, ...);
__attribute__((visibility("hidden"))) int slurmscope_ppcontrol(int level, ...);
/// Called by both before they jump to what it returns, the real function.
__attribute__((visibility("hidden"))) void *slurmscope_before_pcontrol(int level, int is_profiling, const void *caller,
                                                                      const void *stack);
}

namespace slurmscope {

template <uint16_t id, bool is_profiling> struct Wrapper<id, is_profiling, int (*)(int, ...)> {
  static constexpr int (&call)(int, ...) = is_profiling ? slurmscope_ppcontrol : slurmscope_pcontrol;
};

}  // namespace slurmscope
