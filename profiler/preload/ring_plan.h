// How large the rings of a thread may be. Called by attach.cc when it makes a file; no allocation, no errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/ring_layout.h"

namespace slurmscope {

/// The sizes of ring `index` of this process as the settings say. Further threads' (often MPI's own) are
/// smaller, so that all rings of a process together stay in the order of ten full ones.
RingLayout plan_ring(uint32_t index);

/// Halves the rings. False: they are as small as they can be.
bool shrink_ring(RingLayout *layout);

/// Bytes that a ring in the file system of `fd` may have: a share of what is free there and of what the
/// process's limits leave, so that whoever comes after us (MPI's own shared memory, mlockall) finds room.
uint64_t ring_budget(int fd);

}  // namespace slurmscope
