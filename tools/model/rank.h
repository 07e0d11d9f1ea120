// Steps of building a RankModel; see rank.cc. Called by build_worlds().
#pragma once

#include "tools/model/run.h"

namespace slurmscope {

/// Everything about one process except what needs its world.
RankModel make_rank(const Stream &stream, uint32_t process_id, const ProcessRecord &record);

/// Fills compute (the rest), skew and overlap so that the categories sum to the world's wall time.
void close_categories(RankModel *rank, double world_wall_s);

}  // namespace slurmscope
