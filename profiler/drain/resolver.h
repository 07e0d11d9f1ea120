// One process's events into rows: handles become communicators, world ranks and request numbers.
//
// The drainer calls it for each definition and, in the order in which the application's threads acted,
// for each event. Single-threaded. Nothing in a definition or event is trusted: sizes are checked,
// memory is bounded by what the producer really wrote.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/event.h"
#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"

namespace slurmscope {

/// The call table as the trace has it, and what the resolver must know of some calls by name.
struct CallRoles {
  enum class Role : uint8_t {
    kNone, kPersistentSend, kPersistentReceive, kPersistentCollective, kStart, kStartSendReceive, kStartOther,
    kFreeRequest, kMatchedProbe, kMatchedReceive,
  };
  std::vector<v1::CallClass> classes;
  std::vector<Role> roles;

  /// Of the calls that this program was built with.
  static CallRoles built_in(v1::CallTable *table);
  static CallRoles of(const v1::CallTable &table);
};

/// The ranks of one MPI_COMM_WORLD that live on this node.
struct LocalRanks {
  std::vector<int32_t> ranks;  // sorted
  int32_t size = -1;           // how many there are, if the launcher said so
  void add(int32_t rank);
  bool is_complete() const { return size > 0 && static_cast<int64_t>(ranks.size()) >= size; }
  Locality locality_of(int32_t rank, int32_t own_rank) const;
};

class Resolver {
 public:
  Resolver(uint32_t process, const CallRoles *roles) : process_(process), roles_(roles) {}

  void set_world(int32_t rank, const LocalRanks *local) {
    world_rank_ = rank;
    local_ = local;
  }
  /// kCommunicator, kCommunicatorFree. Fills `packet` and returns true if it is a new communicator.
  bool define_communicator(const DefinitionHeader *record, v1::Packet *packet);

  /// What is remembered of one ring: the parts of a call follow it.
  struct RingContext { uint32_t last_site = 0; };
  TraceEvent resolve(const Event &event, RingContext *ring);

  /// What is taken from the times in definitions: the events are in the node's time already.
  void set_clock_shift(uint64_t ticks) { clock_shift_ = ticks; }
  /// Messages whose peer could not be named, or is a process of another MPI_COMM_WORLD; rows whose end was
  /// before their start.
  uint64_t unresolved() const { return unresolved_; }
  uint64_t foreign() const { return foreign_; }
  uint64_t clamped() const { return clamped_; }

  /// Requests that are on their way, and messages that were matched and not received, as rows; for a
  /// successor of a drainer that was killed.
  struct Saved { std::vector<TraceEvent> pending, persistent, messages; uint64_t next_request = 1; };
  Saved save() const;
  void load(const Saved &saved);

 private:
  struct Ranks {
    std::vector<int32_t> world;      // by rank; empty if it is one progression
    int32_t first = 0, stride = 0;
    int32_t size = 0;
    int32_t to_world(int32_t rank) const;
  };
  struct Communicator { Ranks members, remote; };
  struct Validity { uint64_t from; uint32_t id; };  // id 0: freed
  // What the completion of a request says: nothing, what came from whom, nothing, how much was read.
  enum class Direction : uint8_t { kSend = 0, kReceive = 1, kOther = 2, kFileRead = 3 };
  struct Pending {
    TraceEvent start;  // as written; peer already a world rank
    Direction direction = Direction::kSend;
  };
  struct Persistent {
    TraceEvent made;
    Direction direction = Direction::kSend;
  };

  static bool read_ranks(const int32_t *ranks, int32_t count, Ranks *to,
                         google::protobuf::RepeatedPtrField<v1::RankRange> *packet);
  uint32_t communicator_at(uint64_t handle, uint64_t time);
  const Communicator *find_communicator(uint32_t id);
  void name_peer(TraceEvent *row, uint64_t handle);
  void set_locality(TraceEvent *row) const;
  void follow_request(const Event &event, TraceEvent *row);
  void start_persistent(uint64_t handle, TraceEvent *row);
  void take_message(uint64_t handle, TraceEvent *row);
  void begin_request(uint64_t handle, TraceEvent *row, Direction direction);
  void add_pending(uint64_t handle, const Pending &pending);
  bool take_pending(uint64_t handle, Pending *pending);
  void complete(const Event &event, TraceEvent *row);

  static const std::map<v1::CallClass, Direction> kDirections;

  uint32_t process_;
  const CallRoles *roles_;
  int32_t world_rank_ = -1;
  const LocalRanks *local_ = nullptr;
  std::unordered_map<uint32_t, Communicator> communicators_;  // by id: those that handles_ names
  uint32_t last_communicator_ = 0;
  std::unordered_map<uint64_t, std::vector<Validity>> handles_;
  uint64_t cached_handle_ = 0;
  const std::vector<Validity> *cached_ = nullptr;
  uint32_t cached_id_ = 0;
  const Communicator *cached_communicator_ = nullptr;
  std::unordered_map<uint64_t, Pending> pending_;
  // MPICH gives one handle to all requests that were complete at once: the later ones of a handle.
  std::unordered_map<uint64_t, std::deque<Pending>> more_pending_;
  std::unordered_map<uint64_t, Persistent> persistent_;
  std::unordered_map<uint64_t, uint32_t> messages_;  // matched message -> communicator of the probe
  uint64_t next_request_ = 1;
  uint64_t unresolved_ = 0, foreign_ = 0, clamped_ = 0, clock_shift_ = 0;
};

}  // namespace slurmscope
