// The fold over rows. See summary.h for what it means, FORMAT.md ("Summary") for the rules in words.
#include "proto/summary.h"

#include <algorithm>
#include <bit>

namespace slurmscope {
namespace {

using v1::CallClass;

bool is_file_class(CallClass call_class) {
  return (call_class >= v1::CLASS_OPEN && call_class <= v1::CLASS_MAP) ||
         (call_class >= v1::CLASS_SOCKET_CONNECT && call_class <= v1::CLASS_SOCKET_SEND) ||
         (call_class >= v1::CLASS_MPI_IO_OPEN && call_class <= v1::CLASS_MPI_IO_WRITE) ||
         call_class == v1::CLASS_MPI_IO_METADATA;
}
bool is_io_class(CallClass call_class) {
  return call_class >= v1::CLASS_OPEN || call_class == v1::CLASS_MPI_IO_DATA || call_class == v1::CLASS_MPI_IO_METADATA;
}
// Whose rows say by themselves whether they are a send's start or a receive's end.
bool is_start_class(CallClass call_class) { return call_class == v1::CLASS_START || call_class == v1::CLASS_LOCAL; }

bool has_moved(const TraceEvent &row) {
  return (row.flags & (kRowFailed | kRowCancelled)) == 0 && row.peer != kPeerProcNull;
}

// POSIX accesses have the file's own position, MPI-IO's only what they say, sockets none.
bool has_position(const TraceEvent &row, CallClass call_class) {
  return row.offset >= 0 || call_class == v1::CLASS_READ || call_class == v1::CLASS_WRITE;
}

}  // namespace

uint32_t size_bin(uint64_t bytes) { return static_cast<uint32_t>(std::bit_width(bytes)); }

void CallStats::merge(const CallStats &other) {
  count += other.count;
  bytes += other.bytes;
  ticks += other.ticks;
  min_ticks = std::min(min_ticks, other.min_ticks);
  max_ticks = std::max(max_ticks, other.max_ticks);
  failed += other.failed;
  durations.merge(other.durations);
}

void Span::add(uint64_t first, uint64_t last) {
  if (first != 0 && (first_ticks == 0 || first < first_ticks)) first_ticks = first;
  last_ticks = std::max(last_ticks, last);
}

void FileStats::merge(const FileStats &other) {
  static constexpr uint64_t FileStats::*kSums[] = {
      &FileStats::opens, &FileStats::closes, &FileStats::reads, &FileStats::writes, &FileStats::bytes_read,
      &FileStats::bytes_written, &FileStats::read_ticks, &FileStats::write_ticks, &FileStats::metadata,
      &FileStats::metadata_ticks, &FileStats::sequential, &FileStats::strided, &FileStats::random,
      &FileStats::direct_opens, &FileStats::unaligned, &FileStats::maps, &FileStats::bytes_mapped};
  for (uint64_t FileStats::*sum : kSums) this->*sum += other.*sum;
  reading.add(other.reading.first_ticks, other.reading.last_ticks);
  writing.add(other.writing.first_ticks, other.writing.last_ticks);
  for (auto [bin, count] : other.read_sizes) read_sizes[bin] += count;
  for (auto [bin, count] : other.write_sizes) write_sizes[bin] += count;
}

CallClass Summary::class_of(uint32_t call) const {
  return call < classes_->size() ? (*classes_)[call] : v1::CLASS_UNKNOWN;
}

CallStats &Summary::stats_of(const CallKey &key) {
  uint64_t hash = (uint64_t{key.call} << 32 ^ uint64_t{key.site} << 16 ^ uint64_t{key.object} << 8 ^
                   uint64_t{key.size_bin} << 2 ^ static_cast<uint64_t>(key.locality)) * 0x9e3779b97f4a7c15u;
  Recent &recent = recent_.lines[hash >> 58];
  if (recent.stats == nullptr || recent.key != key) recent = {key, &calls[key]};
  return *recent.stats;
}

void Summary::add(const TraceEvent &row) {
  CallClass call_class = class_of(row.call);
  if (row.kind == RowKind::kCall) add_call(row, call_class);
  else if (row.kind == RowKind::kReceivePart) add_receive_part(row);
  else if (row.kind == RowKind::kStartPart) add_start_part(row);
  else if (row.kind == RowKind::kCompletion) add_completion(row, call_class);
  else if (row.kind == RowKind::kPolls) add_polls(row, call_class);
}

void Summary::add_call(const TraceEvent &row, CallClass call_class) {
  span.add(row.start, row.end);
  bool moved = has_moved(row);
  // What a started receive gets is known, and counted, at its completion.
  uint64_t bytes = moved && call_class != v1::CLASS_START_RECEIVE ? row.bytes : 0;
  uint64_t ticks = row.end - row.start;
  CallStats &stats = stats_of({row.call, row.site, is_io_class(call_class) ? 0 : row.object,
                               locality_of(row), size_bin(bytes)});
  stats.count++;
  stats.bytes += bytes;
  stats.ticks += ticks;
  stats.min_ticks = std::min(stats.min_ticks, ticks);
  stats.max_ticks = std::max(stats.max_ticks, ticks);
  if (row.flags & kRowFailed) stats.failed++;
  stats.durations.add(ticks);

  if (is_file_class(call_class)) {
    if (row.object != 0 && (row.flags & kRowFailed) == 0) add_file(row, call_class);
  } else if (moved && (row.flags & kRowMessage) && row.peer >= 0) {
    if (call_class == v1::CLASS_SEND || call_class == v1::CLASS_START_SEND || call_class == v1::CLASS_SEND_RECEIVE ||
        is_start_class(call_class)) {
      add_sent(row);
    } else if (call_class == v1::CLASS_RECEIVE) {
      add_received(row);
    }
  }
}

// One request that a Startall started: its bytes are payload of that call, in the entry of their size, so
// that a cancelled one is taken back there.
void Summary::add_start_part(const TraceEvent &row) {
  if (!has_moved(row)) return;
  if (row.bytes != 0)
    stats_of({row.call, row.site, row.object, locality_of(row), size_bin(row.bytes)}).bytes += row.bytes;
  if (row.peer >= 0 && (row.flags & kRowMessage)) add_sent(row);
}

// The receiving half of a Sendrecv: its bytes are payload of the call as well, in size_bin 0's entry,
// because the call's own entry is chosen by what it sends.
void Summary::add_receive_part(const TraceEvent &row) {
  if (!has_moved(row)) return;
  if (row.bytes != 0) stats_of({row.call, row.site, row.object, locality_of(row), 0}).bytes += row.bytes;
  if (row.peer >= 0) add_received(row);
}

void Summary::add_completion(const TraceEvent &row, CallClass call_class) {
  bool is_message = (row.flags & kRowMessage) != 0;
  // Of what MPI_Start started, only receives are messages at their completion.
  bool is_receive = call_class == v1::CLASS_START_RECEIVE || (is_start_class(call_class) && is_message);
  bool is_send = call_class == v1::CLASS_START_SEND || (is_start_class(call_class) && !is_message);
  if (call_class == v1::CLASS_MPI_IO_READ) {
    add_file_completion(row);
    return;
  }
  if (is_receive && has_moved(row)) {
    if (row.bytes != 0) stats_of({row.call, row.site, row.object, locality_of(row), 0}).bytes += row.bytes;
    if (row.peer >= 0 && is_message) add_received(row);
  } else if (is_send && (row.flags & kRowCancelled) && row.peer >= 0) {
    // It was counted when it was started; sums of packets are modulo 2^64, so a packet may take back.
    stats_of({row.call, row.site, row.object, locality_of(row), size_bin(row.bytes)}).bytes -= row.bytes;
    PeerStats &peer = peers[row.peer];
    peer.sent_count--;
    peer.sent_bytes -= row.bytes;
  }
}

// Each of the calls counts, as if all had taken the same time.
void Summary::add_polls(const TraceEvent &row, CallClass call_class) {
  uint64_t count = row.request, ticks = static_cast<uint64_t>(row.offset);
  if (count == 0) return;
  span.add(row.start, row.end);
  CallStats &stats = stats_of({row.call, row.site, is_io_class(call_class) ? 0 : row.object, locality_of(row), 0});
  uint64_t mean = ticks / count;
  stats.count += count;
  stats.ticks += ticks;
  stats.min_ticks = std::min(stats.min_ticks, mean);
  stats.max_ticks = std::max(stats.max_ticks, mean);
  stats.durations.add(mean, count);
}

// A read of a file that was started by an earlier call, which has the time: here it is an access.
void Summary::add_file_completion(const TraceEvent &row) {
  if (!has_moved(row)) return;
  if (row.bytes != 0) stats_of({row.call, row.site, 0, locality_of(row), 0}).bytes += row.bytes;
  if (row.object == 0) return;
  FileStats &file = files[row.object];
  file.reads++;
  file.bytes_read += row.bytes;
  file.reading.add(row.start, row.end);
  file.read_sizes[size_bin(row.bytes)]++;
  if (row.offset >= 0) add_access(row, false, &file);
}

void Summary::add_sent(const TraceEvent &row) {
  PeerStats &peer = peers[row.peer];
  peer.sent_count++;
  peer.sent_bytes += row.bytes;
}

void Summary::add_received(const TraceEvent &row) {
  PeerStats &peer = peers[row.peer];
  peer.received_count++;
  peer.received_bytes += row.bytes;
}

void Summary::add_file(const TraceEvent &row, CallClass call_class) {
  FileStats &file = files[row.object];
  uint64_t ticks = row.end - row.start;
  switch (call_class) {
    case v1::CLASS_READ:
    case v1::CLASS_MPI_IO_READ:
    case v1::CLASS_SOCKET_RECEIVE:
      file.read_ticks += ticks;
      file.reading.add(row.start, row.end);
      if (row.request != 0) return;  // started: see add_file_completion()
      file.reads++;
      file.bytes_read += row.bytes;
      file.read_sizes[size_bin(row.bytes)]++;
      if (has_position(row, call_class)) add_access(row, false, &file);
      return;
    case v1::CLASS_WRITE:
    case v1::CLASS_MPI_IO_WRITE:
    case v1::CLASS_SOCKET_SEND:
      file.writes++;
      file.bytes_written += row.bytes;
      file.write_ticks += ticks;
      file.writing.add(row.start, row.end);
      file.write_sizes[size_bin(row.bytes)]++;
      if (has_position(row, call_class)) add_access(row, true, &file);
      return;
    case v1::CLASS_OPEN:
      cursors_[row.object] = 0;
      [[fallthrough]];
    case v1::CLASS_MPI_IO_OPEN:
    case v1::CLASS_SOCKET_CONNECT:
      file.opens++;
      if (row.flags & kRowDirect) file.direct_opens++;
      break;
    case v1::CLASS_CLOSE:
    case v1::CLASS_MPI_IO_CLOSE:
      file.closes++;
      break;
    case v1::CLASS_MAP:
      file.maps++;
      file.bytes_mapped += row.bytes;
      break;
    case v1::CLASS_SEEK:
      if (row.offset >= 0) cursors_[row.object] = static_cast<uint64_t>(row.offset);
      [[fallthrough]];
    default:
      file.metadata++;
  }
  file.metadata_ticks += ticks;
}

// Sequential: starts where the last access of its kind ended. Strided: leaves the same gap as the one
// before it. The first access of a file in each direction is neither.
void Summary::add_access(const TraceEvent &row, bool is_write, FileStats *file) {
  uint64_t start;
  if (row.offset >= 0) {
    start = static_cast<uint64_t>(row.offset);
  } else {  // at the file's own position
    uint64_t &cursor = cursors_[row.object];
    start = cursor;
    cursor += row.bytes;
  }
  if (start % kAlignment != 0) file->unaligned++;
  Position &position = positions_[{row.object, is_write}];
  if (position.seen) {
    auto gap = static_cast<int64_t>(start - position.end);
    if (gap == 0) file->sequential++;
    else if (gap == position.gap) file->strided++;
    else file->random++;
    position.gap = gap;
  }
  position.seen = true;
  position.end = start + row.bytes;
}

void Summary::merge(const Summary &other) {
  for (const auto &[key, stats] : other.calls) calls[key].merge(stats);
  for (const auto &[rank, stats] : other.peers) {
    PeerStats &peer = peers[rank];
    peer.sent_count += stats.sent_count;
    peer.sent_bytes += stats.sent_bytes;
    peer.received_count += stats.received_count;
    peer.received_bytes += stats.received_bytes;
  }
  for (const auto &[id, stats] : other.files) files[id].merge(stats);
  span.add(other.span.first_ticks, other.span.last_ticks);
}

// object: the file; tag: read, write, or the file's own position; offset: the end; bytes: the gap before.
namespace {
constexpr int32_t kReadPosition = 0, kWritePosition = 1, kUnseenPosition = 2, kCursor = 4;
}

std::vector<TraceEvent> Summary::positions() const {
  std::vector<TraceEvent> rows;
  auto add = [&rows](uint32_t file, int32_t what, uint64_t end, int64_t gap) {
    TraceEvent row;
    row.object = file;
    row.tag = what;
    row.offset = static_cast<int64_t>(end);
    row.bytes = static_cast<uint64_t>(gap);
    rows.push_back(row);
  };
  for (const auto &[key, position] : positions_)
    add(key.first, (key.second ? kWritePosition : kReadPosition) | (position.seen ? 0 : kUnseenPosition), position.end, position.gap);
  for (auto [file, cursor] : cursors_) add(file, kCursor, cursor, 0);
  return rows;
}

void Summary::set_positions(const std::vector<TraceEvent> &rows) {
  for (const TraceEvent &row : rows) {
    auto end = static_cast<uint64_t>(row.offset);
    if (row.tag == kCursor) cursors_[row.object] = end;
    else positions_[{row.object, (row.tag & kWritePosition) != 0}] = {end, static_cast<int64_t>(row.bytes), (row.tag & kUnseenPosition) == 0};
  }
}

void Summary::clear_counts() {
  calls.clear();
  peers.clear();
  files.clear();
  span = Span();
  recent_ = {};
}

}  // namespace slurmscope
