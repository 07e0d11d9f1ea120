// Collectives that nobody leaves before everybody has entered, and what they say about clocks.
//
// Fed by read_events(): each rank's blocking uses, in order; the n-th use of one operation on one communicator
// is the same call on all its members. Every pair of clocks gets bounds from it, through the first clock of
// the instance, so that the work grows with the number of nodes and not with its square. Memory is bounded: when
// more than kMaxInstances wait for their members, every other one is given up. Pure, single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace slurmscope {

/// Number of the operation that `call` (an MPI name) is; -1: none that synchronises. Calls with counts per rank
/// are none: a count may be 0.
int synchronising_operation(std::string_view call);
/// Whether the operation synchronises if it moves `bytes` per rank. Its uses count in any case.
bool does_synchronise(int operation, uint64_t bytes);

class SynchronisingCalls {
 public:
  /// Something left clock `from` at `sent` and had arrived at clock `to` at `received`.
  using Sink = std::function<void(size_t from, size_t to, int64_t sent, int64_t received)>;
  explicit SynchronisingCalls(Sink sink) : sink_(std::move(sink)) {}

  /// One use by one rank: number `use` (from 0) of `operation` on communicator `gid` of `size` members.
  void add(uint64_t gid, int operation, uint64_t use, uint32_t size, size_t clock, int64_t entered, int64_t left);
  /// Uses of which not all members were seen still order those that were.
  void finish();

  static constexpr size_t kMaxInstances = 1 << 17;

 private:
  struct Key {
    uint64_t gid, use;
    int operation;
    bool operator==(const Key &) const = default;
  };
  struct KeyHash { size_t operator()(const Key &key) const; };
  struct Part { size_t clock; int64_t last_entered, first_left; };
  struct Instance { uint32_t seen = 0; std::vector<Part> parts; };
  void evaluate(const Instance &instance);

  Sink sink_;
  std::unordered_map<Key, Instance, KeyHash> instances_;
  uint64_t stride_ = 1;
};

}  // namespace slurmscope
