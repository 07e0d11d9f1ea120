// What the drainer has folded but not yet written to the trace, on the spool: summaries since the last
// Summary packets, requests on their way, and the losses that the drainer itself counted. Two files, used in turn; SPOOL/commit says which one counts.
#pragma once

#include <cstdint>

#include "profiler/drain/follower.h"
#include "profiler/drain/spool.h"

namespace slurmscope {

/// Writes checkpoint `slot`; summaries only if `with_summaries` (else they are in the trace itself).
/// False if that failed: a successor would know less.
bool save_checkpoint(const Spool &spool, uint32_t slot, const Follower &follower, bool with_summaries);

/// Gives the processes back what checkpoint `slot` holds.
void load_checkpoint(const Spool &spool, uint32_t slot, Follower *follower);

}  // namespace slurmscope
