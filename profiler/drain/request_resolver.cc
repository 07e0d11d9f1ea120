// Requests: the call that started one and the call that completed it get the same number.
//
// A handle is only meaningful from its start to its completion: both MPIs use handles again at once.
#include <algorithm>

#include "profiler/drain/resolver.h"

namespace slurmscope {
namespace {
using Role = CallRoles::Role;
// Requests that were started and of whose completion nothing is heard: the oldest are given up.
constexpr size_t kMaxPending = 1 << 20;
constexpr size_t kMaxPendingOfHandle = 1 << 16;
}  // namespace

// The requests that calls of these classes start.
const std::map<v1::CallClass, Resolver::Direction> Resolver::kDirections = {
    {v1::CLASS_START_SEND, Direction::kSend},        {v1::CLASS_START_RECEIVE, Direction::kReceive},
    {v1::CLASS_START_COLLECTIVE, Direction::kOther}, {v1::CLASS_ONE_SIDED, Direction::kOther},
    {v1::CLASS_SETUP, Direction::kOther},            {v1::CLASS_MPI_IO_WRITE, Direction::kOther},
    {v1::CLASS_MPI_IO_READ, Direction::kFileRead},
};

void Resolver::add_pending(uint64_t handle, const Pending &pending) {
  auto [place, is_new] = pending_.try_emplace(handle, pending);
  if (is_new) {
    if (pending_.size() > kMaxPending) {
      auto other = pending_.begin();
      if (other == place) ++other;
      more_pending_.erase(other->first);
      pending_.erase(other);
    }
    return;
  }
  // The handle is in use: either its completion was lost, or the MPI gives one handle to all requests
  // that are complete at once. Receives and reads are not, unless from PROC_NULL; sends, collectives among
  // one process and one-sided calls can be.
  auto is_immediate = [](const Pending &entry) {
    return entry.direction == Direction::kSend || entry.direction == Direction::kOther || entry.start.peer == kPeerProcNull;
  };
  if (is_immediate(place->second) && is_immediate(pending)) {
    std::deque<Pending> &more = more_pending_[handle];
    if (more.size() < kMaxPendingOfHandle) more.push_back(pending);
    return;
  }
  more_pending_.erase(handle);
  place->second = pending;
}

bool Resolver::take_pending(uint64_t handle, Pending *pending) {
  auto place = pending_.find(handle);
  if (place == pending_.end()) return false;
  *pending = place->second;
  if (!more_pending_.empty()) {
    auto more = more_pending_.find(handle);
    if (more != more_pending_.end()) {
      place->second = more->second.front();
      more->second.pop_front();
      if (more->second.empty()) more_pending_.erase(more);
      return true;
    }
  }
  pending_.erase(place);
  return true;
}

void Resolver::begin_request(uint64_t handle, TraceEvent *row, Direction direction) {
  row->request = next_request_++;
  set_locality(row);
  add_pending(handle, {*row, direction});
}

// A call, or a part of Startall, that started a persistent request.
void Resolver::start_persistent(uint64_t handle, TraceEvent *row) {
  auto made = persistent_.find(handle);
  if (made == persistent_.end()) return;
  const TraceEvent &what = made->second.made;
  Direction direction = made->second.direction;
  row->object = what.object;
  row->peer = what.peer;
  row->tag = what.tag;
  if (direction != Direction::kReceive) row->bytes = what.bytes;
  if (direction == Direction::kSend) row->flags |= kRowMessage;
  begin_request(handle, row, direction);
}

// A receive of a message that a matched probe found: its source is a rank of the probe's communicator.
void Resolver::take_message(uint64_t handle, TraceEvent *row) {
  auto probed = messages_.find(handle);
  if (probed != messages_.end()) {
    row->object = probed->second;
    messages_.erase(probed);
  }
  name_peer(row, 0);
}

// A call that made, started or dropped a request; `row` has its peer named already.
void Resolver::follow_request(const Event &event, TraceEvent *row) {
  if (row->flags & kRowFailed) return;
  v1::CallClass call_class = roles_->classes[row->call];
  Role role = roles_->roles[row->call];
  switch (role) {
    case Role::kPersistentSend:
    case Role::kPersistentReceive:
    case Role::kPersistentCollective:
      row->flags &= static_cast<uint16_t>(~kRowMessage);
      persistent_[event.request] = {*row, role == Role::kPersistentSend      ? Direction::kSend
                                          : role == Role::kPersistentReceive ? Direction::kReceive
                                                                             : Direction::kOther};
      row->bytes = 0;  // nothing moves until it is started
      return;
    case Role::kStart:
      if (event.request != 0) start_persistent(event.request, row);
      return;
    case Role::kStartSendReceive:
      begin_request(event.request, row, Direction::kReceive);
      return;
    case Role::kStartOther:
      begin_request(event.request, row, Direction::kOther);
      return;
    case Role::kFreeRequest: {
      Pending dropped;
      if (take_pending(event.request, &dropped)) row->request = dropped.start.request;
      persistent_.erase(event.request);
      return;
    }
    case Role::kMatchedProbe:
      if (event.request != 0 && messages_.size() < kMaxPending) messages_[event.request] = row->object;
      return;
    case Role::kMatchedReceive:
    case Role::kNone:
      break;
  }
  auto direction = kDirections.find(call_class);
  // MPI_Cancel and the like name a request and change nothing.
  if (event.request != 0 && direction != kDirections.end()) begin_request(event.request, row, direction->second);
}

// The end of a request. Of a send or collective the event says nothing reliable but that it ended.
void Resolver::complete(const Event &event, TraceEvent *row) {
  row->kind = RowKind::kCompletion;
  Pending pending;
  bool is_known = take_pending(event.request, &pending);
  row->offset = -1;
  if (!is_known) {
    row->flags &= static_cast<uint16_t>(~kRowMessage);
    row->bytes = 0;  // of what, nobody knows
    if (row->peer >= 0) {
      row->peer = kPeerNone;
      unresolved_++;
    }
    return;
  }
  const TraceEvent &start = pending.start;
  row->start = start.start;
  row->end = std::max(row->end, row->start);
  row->call = start.call;
  row->site = start.site;
  row->object = start.object;
  row->request = start.request;
  if (pending.direction == Direction::kReceive) {
    if (row->flags & kRowCancelled) {
      row->peer = start.peer;
      row->tag = start.tag;
      row->bytes = 0;
    } else {
      if (row->peer == kPeerProcNull) row->bytes = 0;
      name_peer(row, 0);
    }
    row->flags |= kRowMessage;
    set_locality(row);
  } else if (pending.direction == Direction::kFileRead) {
    row->peer = kPeerNone;
    row->tag = 0;
    row->offset = start.offset;
    row->flags &= static_cast<uint16_t>(~(kRowMessage | kRowCancelled));  // no status of I/O says these
  } else {
    row->peer = start.peer;
    row->tag = start.tag;
    row->bytes = start.bytes;
    row->flags = static_cast<uint16_t>((row->flags & ~kRowMessage) | (start.flags & kRowLocalityMask));
  }
}

Resolver::Saved Resolver::save() const {
  Saved saved;
  saved.next_request = next_request_;
  auto add = [&saved](uint64_t handle, const Pending &pending) {
    TraceEvent row = pending.start;
    row.kind = static_cast<RowKind>(pending.direction);
    row.offset = static_cast<int64_t>(handle);
    saved.pending.push_back(row);
  };
  for (const auto &[handle, pending] : pending_) add(handle, pending);
  for (const auto &[handle, more] : more_pending_)
    for (const Pending &pending : more) add(handle, pending);
  for (const auto &[handle, persistent] : persistent_) {
    TraceEvent row = persistent.made;
    row.kind = static_cast<RowKind>(persistent.direction);
    row.offset = static_cast<int64_t>(handle);
    saved.persistent.push_back(row);
  }
  for (const auto &[handle, communicator] : messages_) {
    TraceEvent row;
    row.object = communicator;
    row.offset = static_cast<int64_t>(handle);
    saved.messages.push_back(row);
  }
  return saved;
}

void Resolver::load(const Saved &saved) {
  next_request_ = std::max<uint64_t>(1, saved.next_request);
  auto take = [](TraceEvent row, uint64_t *handle, Direction *direction) {
    *handle = static_cast<uint64_t>(row.offset);
    *direction = static_cast<Direction>(row.kind);
    row.kind = RowKind::kCall;
    row.offset = -1;
    return row;
  };
  uint64_t handle;
  for (const TraceEvent &row : saved.pending) {
    Pending pending;
    pending.start = take(row, &handle, &pending.direction);
    add_pending(handle, pending);
  }
  for (const TraceEvent &row : saved.persistent) {
    Direction direction;
    TraceEvent made = take(row, &handle, &direction);
    persistent_[handle] = {made, direction};
  }
  for (const TraceEvent &row : saved.messages) messages_[static_cast<uint64_t>(row.offset)] = row.object;
}

}  // namespace slurmscope
