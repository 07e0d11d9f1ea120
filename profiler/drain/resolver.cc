// Communicators, ranks and rows. Requests are in request_resolver.cc. See resolver.h.
#include "profiler/drain/resolver.h"

#include <algorithm>
#include <cstring>

#include "profiler/preload/call_table.h"

namespace slurmscope {
namespace {

// Of one handle that are remembered, at least. Definitions are read before the events that refer to them, and a
// batch takes a limited number of events: a program that makes and frees one handle all the time (an event
// each) can be some 10000 generations ahead.
constexpr size_t kMaxGenerations = 1 << 17;

static_assert(static_cast<int>(CallClass::kLocal) == v1::CLASS_LOCAL);
static_assert(static_cast<int>(CallClass::kOpen) == v1::CLASS_OPEN);
static_assert(static_cast<int>(CallClass::kMap) == v1::CLASS_MAP);
static_assert(static_cast<int>(CallClass::kSocketSend) == v1::CLASS_SOCKET_SEND);
static_assert(static_cast<int>(CallClass::kQuery) == v1::CLASS_QUERY);
static_assert(static_cast<int>(CallClass::kMpiIoWrite) == v1::CLASS_MPI_IO_WRITE);

// Event::object is a file id, not a handle.
bool has_file(v1::CallClass c) {
  return c >= v1::CLASS_OPEN || c == v1::CLASS_MPI_IO_DATA || c == v1::CLASS_MPI_IO_METADATA;
}

using Role = CallRoles::Role;
const std::map<std::string_view, Role> kRoles = {
    {"MPI_Send_init", Role::kPersistentSend},        {"MPI_Recv_init", Role::kPersistentReceive},
    {"MPI_Precv_init", Role::kPersistentReceive},    {"MPI_Start", Role::kStart},
    {"MPI_Startall", Role::kStart},                  {"MPI_Isendrecv", Role::kStartSendReceive},
    {"MPI_Isendrecv_replace", Role::kStartSendReceive}, {"MPI_Grequest_start", Role::kStartOther},
    {"MPI_Request_free", Role::kFreeRequest},        {"MPI_Mprobe", Role::kMatchedProbe},
    {"MPI_Improbe", Role::kMatchedProbe},            {"MPI_Mrecv", Role::kMatchedReceive},
    {"MPI_Imrecv", Role::kMatchedReceive},
};

}  // namespace

CallRoles CallRoles::built_in(v1::CallTable *table) {
  for (const CallInfo &call : kCallTable) {
    v1::Call *entry = table->add_calls();
    entry->set_name(call.name);
    entry->set_class_(static_cast<v1::CallClass>(call.call_class));
  }
  return of(*table);
}

CallRoles CallRoles::of(const v1::CallTable &table) {
  CallRoles roles;
  for (const v1::Call &call : table.calls()) {
    std::string_view name = call.name();
    if (name.ends_with("_c")) name.remove_suffix(2);
    Role role = Role::kNone;
    if (auto known = kRoles.find(name); known != kRoles.end()) role = known->second;
    else if (name.ends_with("send_init")) role = Role::kPersistentSend;
    else if (name.ends_with("_init") && name != "MPI_Session_init") role = Role::kPersistentCollective;
    roles.classes.push_back(call.class_());
    roles.roles.push_back(role);
  }
  return roles;
}

void LocalRanks::add(int32_t rank) {
  auto place = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (place == ranks.end() || *place != rank) ranks.insert(place, rank);
}

Locality LocalRanks::locality_of(int32_t rank, int32_t own_rank) const {
  if (rank == own_rank) return Locality::kSelf;
  if (std::binary_search(ranks.begin(), ranks.end(), rank)) return Locality::kNode;
  return is_complete() ? Locality::kOther : Locality::kUnknown;
}

int32_t Resolver::Ranks::to_world(int32_t rank) const {
  if (rank < 0 || rank >= size) return kPeerNone;
  return world.empty() ? first + stride * rank : world[static_cast<size_t>(rank)];
}

// World ranks into progressions; false if one of them cannot be a rank.
bool Resolver::read_ranks(const int32_t *ranks, int32_t count, Ranks *to,
                          google::protobuf::RepeatedPtrField<v1::RankRange> *packet) {
  to->size = count;
  v1::RankRange *range = nullptr;
  int64_t last = 0;
  for (int32_t i = 0; i < count; i++) {
    int64_t rank = ranks[i];
    if (rank < 0 && rank != kPeerForeign) return false;
    bool may_follow = range != nullptr && (rank == kPeerForeign) == (last == kPeerForeign);
    if (may_follow && range->count() == 1) range->set_stride(static_cast<int32_t>(rank - last));
    if (may_follow && rank - last == range->stride()) {
      range->set_count(range->count() + 1);
    } else {
      range = packet->Add();
      range->set_first(static_cast<int32_t>(rank));
      range->set_count(1);
      range->set_stride(0);
    }
    last = rank;
  }
  if (packet->size() == 1) {
    to->first = packet->Get(0).first();
    to->stride = packet->Get(0).stride();
  } else {
    to->world.assign(ranks, ranks + count);
  }
  return true;
}

bool Resolver::define_communicator(const DefinitionHeader *record, v1::Packet *packet) {
  CommunicatorDefinition definition;
  if (record->size < sizeof definition) return false;
  std::memcpy(static_cast<void *>(&definition), record, sizeof definition);
  if (definition.time != 0) definition.time -= clock_shift_;
  cached_ = nullptr;
  cached_communicator_ = nullptr;
  std::vector<Validity> &generations = handles_[definition.handle];
  auto after = std::upper_bound(generations.begin(), generations.end(), definition.time,
                                [](uint64_t time, const Validity &entry) { return time < entry.from; });
  bool is_freed = record->kind == DefinitionKind::kCommunicatorFree;
  // A drainer that was restarted sees some definitions twice.
  bool is_known = after != generations.begin() && (after - 1)->from == definition.time &&
                  ((after - 1)->id == 0) == is_freed;
  if (is_known) return false;
  Validity entry{definition.time, 0};
  if (!is_freed) {
    uint64_t present = (record->size - sizeof definition) / sizeof(int32_t);
    if (definition.size < 0 || definition.remote_size < 0 ||
        uint64_t(definition.size) + uint64_t(definition.remote_size) > present)
      return false;
    auto ranks = reinterpret_cast<const int32_t *>(reinterpret_cast<const char *>(record) + sizeof definition);
    Communicator communicator;
    v1::Communicator *body = packet->mutable_communicator();
    if (!read_ranks(ranks, definition.size, &communicator.members, body->mutable_members()) ||
        !read_ranks(ranks + definition.size, definition.remote_size, &communicator.remote, body->mutable_remote()))
      return false;
    entry.id = ++last_communicator_;
    communicators_.emplace(entry.id, std::move(communicator));
    body->set_process(process_);
    body->set_id(entry.id);
    body->set_gid(definition.gid);
    body->set_parent_gid(definition.parent_gid);
    body->set_rank(definition.rank);
    body->set_size(static_cast<uint32_t>(definition.size));
    body->set_start_ticks(definition.time);
    body->set_made_by(definition.call < roles_->classes.size() ? definition.call : 0);
  }
  generations.insert(after, entry);
  if (generations.size() > 2 * kMaxGenerations) {
    auto kept = generations.end() - kMaxGenerations;
    for (auto old = generations.begin(); old != kept; ++old) communicators_.erase(old->id);
    generations.erase(generations.begin(), kept);
  }
  return !is_freed;
}

uint32_t Resolver::communicator_at(uint64_t handle, uint64_t time) {
  if (cached_ == nullptr || cached_handle_ != handle) {
    auto found = handles_.find(handle);
    if (found == handles_.end()) return 0;
    cached_handle_ = handle;
    cached_ = &found->second;
  }
  const std::vector<Validity> &generations = *cached_;
  if (generations.empty()) return 0;
  if (generations.back().from <= time) return generations.back().id;
  auto after = std::upper_bound(generations.begin(), generations.end(), time,
                                [](uint64_t at, const Validity &entry) { return at < entry.from; });
  return after != generations.begin() ? (after - 1)->id : 0;
}

const Resolver::Communicator *Resolver::find_communicator(uint32_t id) {
  if (cached_communicator_ == nullptr || cached_id_ != id) {
    auto found = communicators_.find(id);
    cached_communicator_ = found != communicators_.end() ? &found->second : nullptr;
    cached_id_ = id;
  }
  return cached_communicator_;
}

// Sets the communicator, and the peer from a rank in it to a world rank.
void Resolver::name_peer(TraceEvent *row, uint64_t handle) {
  if (handle != 0) row->object = communicator_at(handle, row->start);
  if (row->peer < 0) return;
  const Communicator *communicator = find_communicator(row->object);
  if (communicator == nullptr) {
    row->peer = kPeerNone;
    unresolved_++;
    return;
  }
  int32_t rank = (communicator->remote.size > 0 ? communicator->remote : communicator->members).to_world(row->peer);
  if (rank == kPeerNone) unresolved_++;
  if (rank == kPeerForeign) foreign_++;
  row->peer = rank;
}

void Resolver::set_locality(TraceEvent *row) const {
  if (row->peer < 0 || local_ == nullptr) return;
  auto locality = static_cast<uint16_t>(local_->locality_of(row->peer, world_rank_));
  row->flags = static_cast<uint16_t>((row->flags & ~kRowLocalityMask) | locality << kRowLocalityShift);
}

TraceEvent Resolver::resolve(const Event &event, RingContext *ring) {
  TraceEvent row;
  row.start = event.start;
  row.end = event.end;
  if (row.end < row.start) {
    row.end = row.start;
    clamped_++;
  }
  row.call = event.call < roles_->classes.size() ? event.call : 0;
  row.flags = event.flags & (kRowFailed | kRowCancelled | kRowMessage | kRowDirect);
  row.bytes = event.bytes;
  row.peer = event.peer;
  row.tag = event.tag;
  row.offset = event.offset;
  if (event.kind == EventKind::kPolls) {
    row.kind = RowKind::kPolls;
    row.site = event.site;
    row.request = event.request;
    row.offset = std::max<int64_t>(0, event.offset);
    name_peer(&row, event.object);
    set_locality(&row);
    return row;
  }
  v1::CallClass call_class = roles_->classes[row.call];
  if (event.kind == EventKind::kCall) ring->last_site = event.site;
  row.site = ring->last_site;
  if (event.kind == EventKind::kComplete) {
    complete(event, &row);
    return row;
  }
  if (has_file(call_class)) {
    row.object = static_cast<uint32_t>(event.object);
    if (event.request != 0) follow_request(event, &row);
    return row;
  }
  if (event.kind == EventKind::kStart) {
    row.kind = RowKind::kStartPart;
    start_persistent(event.request, &row);
    return row;
  }
  if (roles_->roles[row.call] == Role::kMatchedReceive) take_message(event.object, &row);
  else name_peer(&row, event.object);
  if (event.kind == EventKind::kReceive) {
    row.kind = RowKind::kReceivePart;
  } else {
    // MESSAGE is set once for each side of a message: here for what is sent or was received by now.
    if (call_class == v1::CLASS_START_RECEIVE || call_class == v1::CLASS_PROBE) row.flags &= static_cast<uint16_t>(~kRowMessage);
    if (event.request != 0 || roles_->roles[row.call] != CallRoles::Role::kNone) follow_request(event, &row);
  }
  set_locality(&row);
  return row;
}

}  // namespace slurmscope
