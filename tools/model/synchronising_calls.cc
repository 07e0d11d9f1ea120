// See synchronising_calls.h.
#include "tools/model/synchronising_calls.h"

#include <algorithm>

namespace slurmscope {
namespace {

struct Operation { std::string_view name; bool without_data; };  // without_data: also if nothing moves
constexpr Operation kOperations[] = {
    {"MPI_Barrier", true},           {"MPI_Allreduce", false},   {"MPI_Allreduce_c", false},
    {"MPI_Allgather", false},        {"MPI_Allgather_c", false}, {"MPI_Alltoall", false},
    {"MPI_Alltoall_c", false},       {"MPI_Reduce_scatter_block", false},
    {"MPI_Reduce_scatter_block_c", false}};

}  // namespace

int synchronising_operation(std::string_view call) {
  auto found = std::find_if(std::begin(kOperations), std::end(kOperations), [&](const Operation &o) { return o.name == call; });
  return found == std::end(kOperations) ? -1 : static_cast<int>(found - std::begin(kOperations));
}

bool does_synchronise(int operation, uint64_t bytes) {
  return operation >= 0 && (kOperations[operation].without_data || bytes > 0);
}

size_t SynchronisingCalls::KeyHash::operator()(const Key &key) const {
  uint64_t x = (key.gid ^ key.use * 0x9e3779b97f4a7c15u) + static_cast<uint64_t>(key.operation);
  return (x ^ (x >> 29)) * 0xd6e8feb86659fd93u;
}

void SynchronisingCalls::add(uint64_t gid, int operation, uint64_t use, uint32_t size, size_t clock, int64_t entered,
                             int64_t left) {
  if (use % stride_ != 0 || size < 2) return;
  auto place = instances_.try_emplace({gid, use, operation}).first;
  Instance &instance = place->second;
  auto part = std::find_if(instance.parts.begin(), instance.parts.end(), [&](const Part &p) { return p.clock == clock; });
  if (part == instance.parts.end()) {
    instance.parts.push_back({clock, entered, left});
  } else {
    part->last_entered = std::max(part->last_entered, entered);
    part->first_left = std::min(part->first_left, left);
  }
  if (++instance.seen == size) {
    evaluate(instance);
    instances_.erase(place);
  } else if (instances_.size() > kMaxInstances) {
    stride_ *= 2;
    std::erase_if(instances_, [this](const auto &entry) { return entry.first.use % stride_ != 0; });
  }
}

void SynchronisingCalls::evaluate(const Instance &instance) {
  if (instance.parts.size() < 2) return;
  const Part &hub = *std::min_element(instance.parts.begin(), instance.parts.end(),
                                      [](const Part &a, const Part &b) { return a.clock < b.clock; });
  for (const Part &part : instance.parts) {
    if (part.clock == hub.clock) continue;
    sink_(hub.clock, part.clock, hub.last_entered, part.first_left);
    sink_(part.clock, hub.clock, part.last_entered, hub.first_left);
  }
}

void SynchronisingCalls::finish() {
  for (const auto &[key, instance] : instances_) evaluate(instance);
  instances_.clear();
}

}  // namespace slurmscope
