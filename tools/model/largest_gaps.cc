// See largest_gaps.h.
#include "tools/model/largest_gaps.h"

#include <algorithm>

namespace slurmscope {

void GapFinder::add(uint32_t thread, const TraceEvent &row, bool is_setup) {
  if (row.kind != RowKind::kCall && row.kind != RowKind::kPolls) return;
  ThreadState &state = threads_[thread];
  auto see_outside = [&state](uint64_t start, uint64_t ticks, uint32_t after, uint32_t before) {
    if (ticks > state.gaps.outside.ticks) state.gaps.outside = {start, ticks, after, before};
  };
  if (state.calls++ > 0 && row.start > state.last_end) see_outside(state.last_end, row.start - state.last_end, state.last_call, row.call);
  uint64_t ticks = row.end - row.start;
  if (row.kind == RowKind::kPolls) {
    // Many short calls; what is not inside them is at most one gap.
    uint64_t inside = std::min(ticks, row.offset > 0 ? static_cast<uint64_t>(row.offset) : 0);
    see_outside(row.start, ticks - inside, row.call, row.call);
  } else if (!is_setup && ticks > state.gaps.inside.ticks) {
    state.gaps.inside = {row.start, ticks, row.call};
  }
  state.last_end = std::max(state.last_end, row.end);  // rows of polls overlap
  state.last_call = row.call;
}

std::optional<LargestGaps> GapFinder::result(uint32_t main) const {
  if (auto found = threads_.find(main); found != threads_.end()) return found->second.gaps;
  const ThreadState *most = nullptr;
  for (const auto &[thread, state] : threads_)
    if (most == nullptr || state.calls > most->calls) most = &state;
  if (most == nullptr) return {};
  return most->gaps;
}

}  // namespace slurmscope
