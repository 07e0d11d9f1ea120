// Summary to and from its packet. Packets come from files that nobody vouches for: values out of range
// are ignored or wrap, nothing is indexed by them.
#include <algorithm>

#include "proto/summary.h"

namespace slurmscope {
namespace {

constexpr uint32_t kSizeBins = 65;

void fill_sizes(const std::map<uint32_t, uint64_t> &sizes, google::protobuf::RepeatedField<uint64_t> *to) {
  if (sizes.empty()) return;
  to->Resize(static_cast<int>(std::min(sizes.rbegin()->first, kSizeBins - 1)) + 1, 0);
  for (auto [bin, count] : sizes)
    if (bin < kSizeBins) to->Set(static_cast<int>(bin), count);
}

void merge_sizes(const google::protobuf::RepeatedField<uint64_t> &sizes, std::map<uint32_t, uint64_t> *to) {
  int bins = std::min(sizes.size(), static_cast<int>(kSizeBins));
  for (int bin = 0; bin < bins; bin++)
    if (sizes.Get(bin) != 0) (*to)[static_cast<uint32_t>(bin)] += sizes.Get(bin);
}

}  // namespace

v1::Summary Summary::to_packet(uint32_t process) const {
  v1::Summary packet;
  packet.set_process(process);
  packet.set_first_ticks(span.first_ticks);
  packet.set_last_ticks(span.last_ticks);
  for (const auto &[key, stats] : calls) {
    v1::CallStats *call = packet.add_calls();
    call->set_call(key.call);
    call->set_site(key.site);
    call->set_object(key.object);
    call->set_locality(static_cast<uint32_t>(key.locality));
    call->set_size_bin(key.size_bin);
    call->set_count(stats.count);
    call->set_bytes(stats.bytes);
    call->set_ticks(stats.ticks);
    if (stats.count != 0) call->set_min_ticks(stats.min_ticks);
    call->set_max_ticks(stats.max_ticks);
    call->set_failed(stats.failed);
    uint32_t before = 0;
    for (auto [bucket, count] : stats.durations.counts()) {
      call->mutable_durations()->add_bucket_delta(bucket - before);
      call->mutable_durations()->add_count(count);
      before = bucket;
    }
  }
  for (const auto &[rank, stats] : peers) {
    v1::PeerStats *peer = packet.add_peers();
    peer->set_peer(rank);
    peer->set_sent_count(stats.sent_count);
    peer->set_sent_bytes(stats.sent_bytes);
    peer->set_received_count(stats.received_count);
    peer->set_received_bytes(stats.received_bytes);
  }
  for (const auto &[id, stats] : files) {
    v1::FileStats *file = packet.add_files();
    file->set_file(id);
    file->set_opens(stats.opens);
    file->set_closes(stats.closes);
    file->set_reads(stats.reads);
    file->set_writes(stats.writes);
    file->set_bytes_read(stats.bytes_read);
    file->set_bytes_written(stats.bytes_written);
    file->set_read_ticks(stats.read_ticks);
    file->set_write_ticks(stats.write_ticks);
    file->set_metadata(stats.metadata);
    file->set_metadata_ticks(stats.metadata_ticks);
    file->set_sequential(stats.sequential);
    file->set_strided(stats.strided);
    file->set_random(stats.random);
    file->set_direct_opens(stats.direct_opens);
    file->set_unaligned(stats.unaligned);
    file->set_maps(stats.maps);
    file->set_bytes_mapped(stats.bytes_mapped);
    file->set_first_read_ticks(stats.reading.first_ticks);
    file->set_last_read_ticks(stats.reading.last_ticks);
    file->set_first_write_ticks(stats.writing.first_ticks);
    file->set_last_write_ticks(stats.writing.last_ticks);
    fill_sizes(stats.read_sizes, file->mutable_read_sizes());
    fill_sizes(stats.write_sizes, file->mutable_write_sizes());
  }
  return packet;
}

void Summary::merge(const v1::Summary &packet) {
  for (const v1::CallStats &call : packet.calls()) {
    CallStats stats;
    stats.count = call.count();
    stats.bytes = call.bytes();
    stats.ticks = call.ticks();
    if (stats.count != 0) stats.min_ticks = call.min_ticks();
    stats.max_ticks = call.max_ticks();
    stats.failed = call.failed();
    const v1::Histogram &durations = call.durations();
    uint64_t bucket = 0;
    for (int i = 0; i < std::min(durations.bucket_delta_size(), durations.count_size()); i++) {
      bucket += durations.bucket_delta(i);
      if (bucket > Histogram::kLastBucket) break;
      stats.durations.add_bucket(static_cast<uint32_t>(bucket), durations.count(i));
    }
    CallKey key{call.call(), call.site(), call.object(), static_cast<Locality>(call.locality() & 3), call.size_bin()};
    calls[key].merge(stats);
  }
  for (const v1::PeerStats &stats : packet.peers()) {
    PeerStats &peer = peers[stats.peer()];
    peer.sent_count += stats.sent_count();
    peer.sent_bytes += stats.sent_bytes();
    peer.received_count += stats.received_count();
    peer.received_bytes += stats.received_bytes();
  }
  for (const v1::FileStats &from : packet.files()) {
    FileStats stats{from.opens(), from.closes(), from.reads(), from.writes(), from.bytes_read(), from.bytes_written(),
                    from.read_ticks(), from.write_ticks(), from.metadata(), from.metadata_ticks(),
                    from.sequential(), from.strided(), from.random(), from.direct_opens(), from.unaligned(),
                    from.maps(), from.bytes_mapped(), {from.first_read_ticks(), from.last_read_ticks()},
                    {from.first_write_ticks(), from.last_write_ticks()}, {}, {}};
    merge_sizes(from.read_sizes(), &stats.read_sizes);
    merge_sizes(from.write_sizes(), &stats.write_sizes);
    files[from.file()].merge(stats);
  }
  span.add(packet.first_ticks(), packet.last_ticks());
}

}  // namespace slurmscope
