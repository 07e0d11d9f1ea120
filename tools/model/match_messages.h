// Sends and receives of all ranks, matched one to one as MPI matched them.
//
// Fed by read_events() with the rows of a trace, rank by rank or interleaved, each rank's in the order of the
// file. MPI does not let messages overtake each other: of one source, destination, tag and communicator the
// n-th send belongs to the n-th receive, in the order in which they were *started*; wildcards are resolved, a
// receive's row names the message it got.
//
// Memory: a side of a message is kept until its partner has come, 32 bytes and what its channel costs (about
// 170 bytes, once per source, destination, tag and communicator in use). Within one file both sides lie close
// together and nothing piles up (10 million messages: 3 MiB); of messages between two files the sides in the first
// one wait for the second (10 million: 323 MiB measured). A rank whose calls come from several threads is sorted by
// time at the end, so all its sides are kept (64 bytes per message). Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"

namespace slurmscope {

/// One side of a message, in ticks of its rank's node.
struct MessageSide {
  uint64_t start = 0;  // entry of the call that started it
  uint64_t end = 0;    // exit of the call that completed it (blocking: the same call); 0 = not in the trace
  uint64_t bytes = 0;
};

struct MatchedMessage {
  uint32_t source = 0, destination = 0;  // endpoints
  int32_t tag = 0;
  uint64_t communicator = 0;             // gid
  MessageSide send, receive;
};

/// What a world's messages came to.
struct MessageCounts {
  uint64_t matched = 0;
  uint64_t sends_left = 0, receives_left = 0;  // no partner in the trace although its rank is there
  uint64_t peer_not_recorded = 0;              // the other rank left no trace
  uint64_t other_world = 0;                    // with a process of another MPI_COMM_WORLD
  uint64_t cancelled = 0;
  uint64_t size_differs = 0;                   // matched, but sent and received bytes differ: rows are missing
};

class MessageMatcher {
 public:
  using Sink = std::function<void(const MatchedMessage &)>;
  /// `sink` gets each message once, of one channel in order.
  explicit MessageMatcher(Sink sink) : sink_(std::move(sink)) {}

  /// Declares rank `rank` of `world`; all of them before the first row. `classes` is its stream's call table.
  /// `has_threads`: its rows may come from several threads, so their order in the file is not that in time.
  uint32_t add_endpoint(uint32_t world, int32_t rank, const std::vector<v1::CallClass> *classes, bool has_threads);
  /// The endpoint's communicator `id`.
  void define_communicator(uint32_t endpoint, uint32_t id, uint64_t gid);
  void add(uint32_t endpoint, const TraceEvent &row);
  /// After the last row: matches what waited and counts what is left.
  void finish();
  /// By world.
  const MessageCounts &counts(uint32_t world) { return counts_[world]; }
  /// Sides that wait for their partner now.
  size_t waiting() const { return waiting_; }

 private:
  enum class State : uint32_t { kOpen, kDone, kCancelled };
  struct Side {
    uint64_t start, end, bytes;
    uint32_t order;      // among equal starts
    State state;
  };
  /// A vector whose front is given up now and then; positions count from the beginning of time.
  struct Queue {
    std::vector<Side> sides;
    uint64_t first = 0, popped = 0;
    bool empty() const { return popped == sides.size(); }
    Side &front() { return sides[popped]; }
    void pop();
    uint64_t push(const Side &side);
    Side *at(uint64_t position);
  };
  struct ChannelKey {
    uint64_t gid;
    uint32_t world;
    int32_t source, destination, tag;
    bool operator==(const ChannelKey &) const = default;
  };
  struct ChannelHash {
    size_t operator()(const ChannelKey &key) const;
  };
  struct Channel { Queue sends, receives; };
  using Channels = std::unordered_map<ChannelKey, Channel, ChannelHash>;
  struct OpenSend { Channels::value_type *channel; uint64_t position; };
  struct OpenReceive { ChannelKey pattern; uint32_t order; };
  struct Endpoint {
    uint32_t world;
    int32_t rank;
    const std::vector<v1::CallClass> *classes;
    bool is_held;
    uint32_t next_order = 1;
    std::unordered_map<uint32_t, uint64_t> communicators;                   // id -> gid
    std::unordered_map<uint64_t, OpenSend> sends;                           // by request
    std::unordered_map<uint64_t, OpenReceive> receives;
    // Orders of open receives by what they may match: a wildcard is -1 there.
    std::unordered_map<ChannelKey, std::set<uint32_t>, ChannelHash> patterns;
    size_t wildcards = 0;
  };

  static uint64_t gid_of(const Endpoint &endpoint, const TraceEvent &row);
  bool key_of(Endpoint *endpoint, const TraceEvent &row, bool is_send, ChannelKey *key);
  void add_call(Endpoint *endpoint, const TraceEvent &row, v1::CallClass call_class);
  void add_completion(Endpoint *endpoint, const TraceEvent &row, v1::CallClass call_class);
  void add_send(Endpoint *endpoint, const TraceEvent &row);
  void add_receive(Endpoint *endpoint, const TraceEvent &row, uint32_t order);
  void open_receive(Endpoint *endpoint, const TraceEvent &row);
  bool close_receive(Endpoint *endpoint, uint64_t request, ChannelKey *pattern, uint32_t *order);
  void free_request(Endpoint *endpoint, uint64_t request);
  bool has_older_open(const Endpoint &endpoint, const ChannelKey &key, uint32_t order) const;
  Endpoint *find(uint32_t world, int32_t rank);
  Channels::value_type *channel_of(const ChannelKey &key);
  void match(Channels::value_type *channel, bool is_final);
  void emit(const ChannelKey &key, const Side &send, const Side &receive);
  void count_left(const ChannelKey &key, Channel *channel);

  Sink sink_;
  std::vector<Endpoint> endpoints_;
  std::unordered_map<uint64_t, uint32_t> by_rank_;  // world and rank -> endpoint
  std::unordered_map<uint32_t, MessageCounts> counts_;
  Channels channels_;
  size_t sweep_at_ = 65536;  // channels at which the empty ones are given up
  size_t waiting_ = 0;
};

}  // namespace slurmscope
