// Quantiles of the log-linear histogram; everything else is inline in histogram.h.
#include "proto/histogram.h"

#include <algorithm>
#include <cmath>

namespace slurmscope {

void Histogram::add_bucket(uint32_t bucket, uint64_t count) {
  if (bucket > kLastBucket || count == 0) return;
  auto place = counts_.empty() || counts_.back().first < bucket
                   ? counts_.end()
                   : std::lower_bound(counts_.begin(), counts_.end(), bucket,
                                      [](const Count &entry, uint32_t wanted) { return entry.first < wanted; });
  if (place != counts_.end() && place->first == bucket)
    place->second += count;
  else
    counts_.insert(place, {bucket, count});
}

double Histogram::quantile(double q) const {
  uint64_t count = total();
  if (count == 0) return 0;
  // Nearest rank: the smallest value that at least a fraction q of all values does not exceed.
  double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count));
  uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count);
  uint64_t seen = 0;
  for (auto [bucket, in_bucket] : counts_) {
    seen += in_bucket;
    if (seen < rank) continue;
    if (bucket < (2u << kSubBits)) return static_cast<double>(bucket);
    uint32_t shift = (bucket >> kSubBits) - 1;
    return static_cast<double>(lower_bound(bucket)) + (static_cast<double>(uint64_t{1} << shift) - 1) / 2;
  }
  return 0;
}

}  // namespace slurmscope
