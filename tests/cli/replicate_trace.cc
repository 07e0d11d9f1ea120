// Makes many nodes of one: copies of a trace, renumbered so that all of them are one run of a large world.
//
// usage: replicate_trace TRACE FOLDER COUNT
// Copy i is the file of node <host>-<i>: its world ranks, their peers in events and summaries, and the members of
// communicators are shifted by i times the ranks of TRACE; the world has COUNT times as many. Communicators connect the
// ranks of one copy. Times are the same on all nodes.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "proto/error.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

using namespace slurmscope;

namespace {

/// What was read, in the order of the file.
struct Piece {
  v1::Packet packet;  // if there are no rows
  uint32_t process = 0, thread = 0;
  std::vector<TraceEvent> rows;
};

void shift_ranks(google::protobuf::RepeatedPtrField<v1::RankRange> *ranges, int shift) {
  for (v1::RankRange &range : *ranges) range.set_first(range.first() + shift);
}

v1::Packet renumbered(v1::Packet packet, int copy, int copies, int ranks) {
  int shift = copy * ranks;
  if (packet.has_header()) packet.mutable_header()->set_stream_id(packet.header().stream_id() + static_cast<uint64_t>(copy));
  if (packet.has_run()) {
    packet.mutable_run()->set_node_id(static_cast<uint32_t>(copy));
    packet.mutable_run()->set_nodes(static_cast<uint32_t>(copies));
    packet.mutable_run()->set_tasks(packet.run().tasks() * static_cast<uint32_t>(copies));
    for (uint32_t &task : *packet.mutable_run()->mutable_local_tasks()) task += static_cast<uint32_t>(shift);
  }
  if (packet.has_node()) packet.mutable_node()->set_host(packet.node().host() + "-" + std::to_string(copy));
  if (packet.has_process() && packet.process().has_world_rank()) {
    packet.mutable_process()->set_world_rank(packet.process().world_rank() + shift);
    packet.mutable_process()->set_world_size(packet.process().world_size() * copies);
  }
  if (packet.has_task()) packet.mutable_task()->set_task(packet.task().task() + static_cast<uint32_t>(shift));
  if (packet.has_communicator()) {
    packet.mutable_communicator()->set_gid(packet.communicator().gid() + static_cast<uint64_t>(copy));
    shift_ranks(packet.mutable_communicator()->mutable_members(), shift);
    shift_ranks(packet.mutable_communicator()->mutable_remote(), shift);
  }
  if (packet.has_summary())
    for (v1::PeerStats &peer : *packet.mutable_summary()->mutable_peers())
      if (peer.peer() >= 0) peer.set_peer(peer.peer() + shift);
  return packet;
}

void write_copy(const std::vector<Piece> &pieces, const std::filesystem::path &path, int copy, int copies, int ranks) {
  MemorySink sink;
  TraceWriter writer(&sink);
  for (const Piece &piece : pieces) {
    if (piece.rows.empty()) {
      writer.write(renumbered(piece.packet, copy, copies, ranks));
      continue;
    }
    std::vector<TraceEvent> rows = piece.rows;
    for (TraceEvent &row : rows)
      if (row.peer >= 0) row.peer += copy * ranks;
    writer.write_events(piece.process, piece.thread, rows);
  }
  writer.finish();
  std::ofstream file(path, std::ios::binary);
  file << sink.bytes;
  if (!file.flush()) throw Error("couldn't write " + path.string());
}

}  // namespace

int main(int argc, char **argv) {
  int copies = argc == 4 ? atoi(argv[3]) : 0;
  if (copies <= 0) {
    fprintf(stderr, "usage: replicate_trace TRACE FOLDER COUNT\n");
    return 2;
  }
  try {
    std::vector<Piece> pieces;
    int ranks = 0;
    TraceVisitor visitor;
    visitor.packet = [&](const v1::Packet &packet) {
      if (packet.has_index()) return;
      if (packet.has_process()) ranks = packet.process().world_size();
      pieces.push_back({packet, 0, 0, {}});
    };
    visitor.events = [&](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) {
      pieces.push_back({{}, process, thread, rows});
    };
    TraceDamage damage = read_trace(argv[1], visitor);
    if (damage.damaged || ranks <= 0) throw Error(std::string(argv[1]) + " is damaged, or has no ranks");
    std::filesystem::create_directories(argv[2]);
    for (int copy = 0; copy < copies; copy++)
      write_copy(pieces, std::filesystem::path(argv[2]) / ("step0.node" + std::to_string(copy) + ".sst"), copy, copies, ranks);
  } catch (const std::exception &error) {
    fprintf(stderr, "replicate_trace: %s\n", error.what());
    return 1;
  }
  return 0;
}
