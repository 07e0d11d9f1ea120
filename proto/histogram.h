// Log-linear histogram of 64-bit values: exact below 128, then 64 buckets per octave, so a bucket's
// middle is within 0.8 % of every value in it. Mergeable; the layout is part of the format.
//
// Memory is proportional to the buckets in use: a sorted vector, which is also what makes add() cheap
// (the drainer calls it once per event).
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace slurmscope {

class Histogram {
 public:
  static constexpr uint32_t kSubBits = 6;
  using Count = std::pair<uint32_t, uint64_t>;  // bucket, values in it

  static constexpr uint32_t bucket_of(uint64_t value) {
    if (value < (2u << kSubBits)) return static_cast<uint32_t>(value);
    uint32_t shift = static_cast<uint32_t>(std::bit_width(value)) - kSubBits - 1;
    return (shift << kSubBits) + static_cast<uint32_t>(value >> shift);
  }
  static constexpr uint32_t kLastBucket = ((63 - kSubBits) << kSubBits) + (2u << kSubBits) - 1;
  /// Smallest value of a bucket.
  static constexpr uint64_t lower_bound(uint32_t bucket) {
    if (bucket < (2u << kSubBits)) return bucket;
    uint32_t shift = (bucket >> kSubBits) - 1;
    return static_cast<uint64_t>(bucket - (shift << kSubBits)) << shift;
  }
  void add(uint64_t value, uint64_t count = 1) { add_bucket(bucket_of(value), count); }
  /// Buckets that do not exist are ignored.
  void add_bucket(uint32_t bucket, uint64_t count);
  void merge(const Histogram &other) {
    for (auto [bucket, count] : other.counts_) add_bucket(bucket, count);
  }
  uint64_t total() const {
    uint64_t sum = 0;
    for (auto [bucket, count] : counts_) sum += count;
    return sum;
  }
  /// Value at quantile q in [0, 1] (nearest rank, middle of its bucket); 0 if empty.
  double quantile(double q) const;
  /// Ascending by bucket.
  const std::vector<Count> &counts() const { return counts_; }
  bool operator==(const Histogram &) const = default;

 private:
  std::vector<Count> counts_;
};
static_assert(Histogram::bucket_of(UINT64_MAX) == Histogram::kLastBucket);

}  // namespace slurmscope
