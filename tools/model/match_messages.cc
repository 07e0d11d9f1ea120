// See match_messages.h.
#include "tools/model/match_messages.h"

#include <algorithm>

namespace slurmscope {
namespace {

constexpr int32_t kAny = -1;  // as source or tag of a pattern

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15u;
  return (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
}

uint64_t rank_key(uint32_t world, int32_t rank) { return uint64_t{world} << 32 | static_cast<uint32_t>(rank); }

}  // namespace

size_t MessageMatcher::ChannelHash::operator()(const ChannelKey &key) const {
  uint64_t ranks = uint64_t{static_cast<uint32_t>(key.source)} << 32 | static_cast<uint32_t>(key.destination);
  uint64_t rest = uint64_t{static_cast<uint32_t>(key.tag)} << 32 | key.world;
  return mix(mix(key.gid, ranks), rest);
}

void MessageMatcher::Queue::pop() {
  ++popped;
  if (popped == sides.size() || (popped >= 4096 && popped >= sides.size() / 2)) {
    sides.erase(sides.begin(), sides.begin() + static_cast<ptrdiff_t>(popped));
    first += popped;
    popped = 0;
  }
}

uint64_t MessageMatcher::Queue::push(const Side &side) {
  sides.push_back(side);
  return first + sides.size() - 1;
}

MessageMatcher::Side *MessageMatcher::Queue::at(uint64_t position) {
  return position < first + popped || position - first >= sides.size() ? nullptr : &sides[position - first];
}

uint32_t MessageMatcher::add_endpoint(uint32_t world, int32_t rank, const std::vector<v1::CallClass> *classes,
                                      bool has_threads) {
  uint32_t id = static_cast<uint32_t>(endpoints_.size());
  endpoints_.push_back({});
  Endpoint &endpoint = endpoints_.back();
  endpoint.world = world;
  endpoint.rank = rank;
  endpoint.classes = classes;
  endpoint.is_held = has_threads;
  by_rank_[rank_key(world, rank)] = id;
  return id;
}

void MessageMatcher::define_communicator(uint32_t endpoint, uint32_t id, uint64_t gid) {
  endpoints_[endpoint].communicators[id] = gid;
}

MessageMatcher::Endpoint *MessageMatcher::find(uint32_t world, int32_t rank) {
  auto found = by_rank_.find(rank_key(world, rank));
  return found == by_rank_.end() ? nullptr : &endpoints_[found->second];
}

uint64_t MessageMatcher::gid_of(const Endpoint &endpoint, const TraceEvent &row) {
  auto communicator = endpoint.communicators.find(row.object);
  return communicator == endpoint.communicators.end() ? 0 : communicator->second;
}

/// False if the row's message cannot have a partner here.
bool MessageMatcher::key_of(Endpoint *endpoint, const TraceEvent &row, bool is_send, ChannelKey *key) {
  MessageCounts &counts = counts_[endpoint->world];
  if (row.peer == kPeerForeign) ++counts.other_world;
  else if (row.peer >= 0 && !find(endpoint->world, row.peer)) ++counts.peer_not_recorded;
  if (row.peer < 0 || !find(endpoint->world, row.peer)) return false;
  *key = {gid_of(*endpoint, row), endpoint->world, is_send ? endpoint->rank : row.peer, is_send ? row.peer : endpoint->rank, row.tag};
  return true;
}

void MessageMatcher::add(uint32_t id, const TraceEvent &row) {
  Endpoint *endpoint = &endpoints_[id];
  v1::CallClass call_class = row.call < endpoint->classes->size() ? (*endpoint->classes)[row.call] : v1::CLASS_UNKNOWN;
  if (call_class >= v1::CLASS_OPEN) return;
  switch (row.kind) {
    case RowKind::kCall:
    case RowKind::kStartPart:  // the first request of an MPI_Startall is in its CALL row, or in none
      add_call(endpoint, row, call_class);
      break;
    case RowKind::kReceivePart:
      if ((row.flags & kRowMessage) && !(row.flags & kRowFailed)) add_receive(endpoint, row, endpoint->next_order++);
      break;
    case RowKind::kCompletion:
      add_completion(endpoint, row, call_class);
      break;
    case RowKind::kPolls:
      break;  // found nothing
  }
}

void MessageMatcher::add_call(Endpoint *endpoint, const TraceEvent &row, v1::CallClass call_class) {
  if (row.flags & kRowFailed) return;
  bool is_message = (row.flags & kRowMessage) != 0;
  if (call_class == v1::CLASS_RECEIVE) {
    if (is_message) add_receive(endpoint, row, endpoint->next_order++);
  } else if (is_message) {
    add_send(endpoint, row);
  } else if (row.request != 0 && call_class != v1::CLASS_START_COLLECTIVE) {
    // A request that is known already is given up here (MPI_Request_free).
    if (endpoint->sends.contains(row.request) || endpoint->receives.contains(row.request)) free_request(endpoint, row.request);
    else if (call_class == v1::CLASS_START_RECEIVE || call_class == v1::CLASS_START || call_class == v1::CLASS_LOCAL)
      open_receive(endpoint, row);
  }
}

void MessageMatcher::add_send(Endpoint *endpoint, const TraceEvent &row) {
  ChannelKey key;
  if (!key_of(endpoint, row, true, &key)) return;
  Channels::value_type *channel = channel_of(key);
  bool is_open = row.request != 0;
  Side side{row.start, is_open ? 0 : row.end, row.bytes, endpoint->next_order++, is_open ? State::kOpen : State::kDone};
  uint64_t position = channel->second.sends.push(side);
  ++waiting_;
  if (is_open) endpoint->sends[row.request] = {channel, position};
  match(channel, false);
}

void MessageMatcher::open_receive(Endpoint *endpoint, const TraceEvent &row) {
  if (row.peer < 0 && row.peer != kPeerAnySource) return;
  OpenReceive open{{gid_of(*endpoint, row), endpoint->world, row.peer >= 0 ? row.peer : kAny, endpoint->rank, row.tag >= 0 ? row.tag : kAny},
                   endpoint->next_order++};
  endpoint->patterns[open.pattern].insert(open.order);
  if (open.pattern.source == kAny || open.pattern.tag == kAny) ++endpoint->wildcards;
  endpoint->receives[row.request] = open;
}

bool MessageMatcher::close_receive(Endpoint *endpoint, uint64_t request, ChannelKey *pattern, uint32_t *order) {
  auto found = endpoint->receives.find(request);
  if (request == 0 || found == endpoint->receives.end()) return false;
  *pattern = found->second.pattern;
  *order = found->second.order;
  endpoint->receives.erase(found);
  auto orders = endpoint->patterns.find(*pattern);
  orders->second.erase(*order);
  if (orders->second.empty()) endpoint->patterns.erase(orders);
  if (pattern->source == kAny || pattern->tag == kAny) --endpoint->wildcards;
  return true;
}

void MessageMatcher::free_request(Endpoint *endpoint, uint64_t request) {
  ChannelKey pattern;
  uint32_t order;
  if (close_receive(endpoint, request, &pattern, &order)) {
    if (auto channel = channels_.find(pattern); channel != channels_.end()) match(&*channel, false);
    return;
  }
  auto found = endpoint->sends.find(request);
  if (found == endpoint->sends.end()) return;
  OpenSend open = found->second;
  endpoint->sends.erase(found);
  if (Side *side = open.channel->second.sends.at(open.position)) side->state = State::kDone;  // when it ended is not known
  match(open.channel, false);
}

void MessageMatcher::add_completion(Endpoint *endpoint, const TraceEvent &row, v1::CallClass call_class) {
  if (call_class == v1::CLASS_START_COLLECTIVE) return;
  bool is_cancelled = (row.flags & kRowCancelled) != 0, is_failed = (row.flags & kRowFailed) != 0;
  if (auto found = endpoint->sends.find(row.request); row.request != 0 && found != endpoint->sends.end()) {
    OpenSend open = found->second;
    endpoint->sends.erase(found);
    uint32_t order = 0;
    if (Side *side = open.channel->second.sends.at(open.position)) {
      order = side->order;
      side->end = row.end;
      side->state = is_cancelled ? State::kCancelled : State::kDone;
      if (is_cancelled) ++counts_[endpoint->world].cancelled;
    }
    match(open.channel, false);
    // Of MPI_Isendrecv the call is the sending half and the completion the receiving one.
    if ((row.flags & kRowMessage) && !is_cancelled && !is_failed) add_receive(endpoint, row, order);
    return;
  }
  ChannelKey pattern;
  uint32_t order = 0;
  bool is_known = close_receive(endpoint, row.request, &pattern, &order);
  if (is_cancelled || is_failed || !(row.flags & kRowMessage)) {
    if (is_cancelled && is_known) ++counts_[endpoint->world].cancelled;
    if (is_known)
      if (auto channel = channels_.find(pattern); channel != channels_.end()) match(&*channel, false);
    return;
  }
  add_receive(endpoint, row, is_known ? order : endpoint->next_order++);
}

void MessageMatcher::add_receive(Endpoint *endpoint, const TraceEvent &row, uint32_t order) {
  ChannelKey key;
  if (!key_of(endpoint, row, false, &key)) return;
  Channels::value_type *channel = channel_of(key);
  Queue &queue = channel->second.receives;
  queue.push({row.start, row.end, row.bytes, order, State::kDone});
  ++waiting_;
  // Receives complete in any order, but match in that of their start.
  for (size_t i = queue.sides.size() - 1; !endpoint->is_held && i > queue.popped && queue.sides[i - 1].order > order; --i)
    std::swap(queue.sides[i - 1], queue.sides[i]);
  match(channel, false);
}

/// Whether a receive that was started before may still turn out to have got a message of this channel.
bool MessageMatcher::has_older_open(const Endpoint &endpoint, const ChannelKey &key, uint32_t order) const {
  if (endpoint.receives.empty()) return false;
  for (int wildcard = 0; wildcard < (endpoint.wildcards == 0 ? 1 : 4); ++wildcard) {
    ChannelKey pattern = key;
    if (wildcard & 1) pattern.source = kAny;
    if (wildcard & 2) pattern.tag = kAny;
    auto orders = endpoint.patterns.find(pattern);
    if (orders != endpoint.patterns.end() && *orders->second.begin() < order) return true;
  }
  return false;
}

MessageMatcher::Channels::value_type *MessageMatcher::channel_of(const ChannelKey &key) {
  if (channels_.size() >= sweep_at_) {
    // A program may use a new tag for each message.
    std::erase_if(channels_, [](const auto &entry) { return entry.second.sends.empty() && entry.second.receives.empty(); });
    sweep_at_ = std::max<size_t>(65536, 2 * channels_.size());
  }
  return &*channels_.try_emplace(key).first;
}

void MessageMatcher::match(Channels::value_type *channel, bool is_final) {
  const ChannelKey &key = channel->first;
  Queue &sends = channel->second.sends, &receives = channel->second.receives;
  Endpoint *source = find(key.world, key.source), *destination = find(key.world, key.destination);
  if (!is_final && (source->is_held || destination->is_held)) return;
  for (;;) {
    while (!sends.empty() && sends.front().state == State::kCancelled) {
      sends.pop();
      --waiting_;
    }
    if (sends.empty() || receives.empty()) return;
    if (!is_final && sends.front().state == State::kOpen) return;
    if (!is_final && has_older_open(*destination, key, receives.front().order)) return;
    emit(key, sends.front(), receives.front());
    sends.pop();
    receives.pop();
    waiting_ -= 2;
  }
}

void MessageMatcher::emit(const ChannelKey &key, const Side &send, const Side &receive) {
  MessageCounts &counts = counts_[key.world];
  ++counts.matched;
  if (send.bytes != receive.bytes) ++counts.size_differs;
  sink_({by_rank_[rank_key(key.world, key.source)], by_rank_[rank_key(key.world, key.destination)], key.tag, key.gid,
         {send.start, send.end, send.bytes}, {receive.start, receive.end, receive.bytes}});
}

void MessageMatcher::finish() {
  auto is_earlier = [](const Side &a, const Side &b) { return std::pair(a.start, a.order) < std::pair(b.start, b.order); };
  for (auto &channel : channels_) {
    const ChannelKey &key = channel.first;
    Queue &sends = channel.second.sends, &receives = channel.second.receives;
    auto sort = [&](Queue *queue) {
      std::sort(queue->sides.begin() + static_cast<ptrdiff_t>(queue->popped), queue->sides.end(), is_earlier);
    };
    if (find(key.world, key.source)->is_held) sort(&sends);
    if (find(key.world, key.destination)->is_held) sort(&receives);
    match(&channel, true);
    count_left(key, &channel.second);
  }
  channels_.clear();
  waiting_ = 0;
}

void MessageMatcher::count_left(const ChannelKey &key, Channel *channel) {
  MessageCounts &counts = counts_[key.world];
  for (; !channel->sends.empty(); channel->sends.pop())
    if (channel->sends.front().state != State::kCancelled) ++counts.sends_left;
  for (; !channel->receives.empty(); channel->receives.pop()) ++counts.receives_left;
}

}  // namespace slurmscope
