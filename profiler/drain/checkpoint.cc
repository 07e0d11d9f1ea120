// See checkpoint.h. The files are small traces: what writes and checks those is there already.
#include "profiler/drain/checkpoint.h"

#include <cstdlib>

#include "proto/error.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"
#include "proto/version.h"

namespace slurmscope {
namespace {

constexpr uint32_t kPendingThread = 1, kPersistentThread = 2, kPositionThread = 3, kMessageThread = 4;

std::string file_name(uint32_t slot) { return "checkpoint." + std::to_string(slot); }

}  // namespace

bool save_checkpoint(const Spool &spool, uint32_t slot, const Follower &follower, bool with_summaries) {
  MemorySink sink;
  TraceWriter writer(&sink);
  v1::Packet packet;
  packet.mutable_header()->set_format_major(kFormatMajor);
  packet.mutable_header()->set_format_minor(kFormatMinor);
  writer.write(packet);
  for (const auto &process : follower.processes()) {
    if (with_summaries && !process->summary.empty()) {
      *packet.mutable_summary() = process->summary.to_packet(process->id());
      writer.write(packet);
    }
    for (const auto &[reason, entry] : process->own_losses()) {
      if (entry == LossCounts::Entry()) continue;
      v1::Loss *loss = packet.mutable_loss();
      loss->set_process(process->id());
      loss->set_reason(reason);
      loss->set_count(entry.count);
      loss->set_ticks(entry.ticks);
      writer.write(packet);
    }
    if (process->is_gone) continue;
    Resolver::Saved saved = process->resolver.save();
    packet.mutable_note()->set_process(process->id());
    packet.mutable_note()->set_text(std::to_string(saved.next_request));
    writer.write(packet);
    writer.write_events(process->id(), kPendingThread, saved.pending);
    writer.write_events(process->id(), kPersistentThread, saved.persistent);
    writer.write_events(process->id(), kMessageThread, saved.messages);
    writer.write_events(process->id(), kPositionThread, process->summary.positions());
  }
  writer.flush();
  return spool.write_text(file_name(slot), sink.bytes);
}

void load_checkpoint(const Spool &spool, uint32_t slot, Follower *follower) {
  std::string bytes = spool.read_text(file_name(slot));
  if (bytes.empty()) return;
  std::map<uint32_t, Resolver::Saved> saved;
  std::map<uint32_t, LossCounts::Entries> losses;
  TraceVisitor visitor;
  visitor.packet = [&](const v1::Packet &packet) {
    if (packet.has_note()) saved[packet.note().process()].next_request = std::strtoull(packet.note().text().c_str(), nullptr, 10);
    if (packet.has_loss())
      losses[packet.loss().process()][packet.loss().reason()] = {packet.loss().count(), packet.loss().ticks()};
    if (!packet.has_summary()) return;
    if (FollowedProcess *process = follower->find_process(packet.summary().process())) process->summary.merge(packet.summary());
  };
  visitor.events = [&](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) {
    if (thread == kPositionThread) {
      if (FollowedProcess *followed = follower->find_process(process)) followed->summary.set_positions(rows);
      return;
    }
    Resolver::Saved &state = saved[process];
    auto &to = thread == kPendingThread ? state.pending : thread == kPersistentThread ? state.persistent : state.messages;
    to.insert(to.end(), rows.begin(), rows.end());
  };
  try {
    read_trace_bytes(file_name(slot), bytes, visitor);
  } catch (const Error &) {
    return;  // nothing was saved
  }
  for (const auto &[id, entries] : losses)
    if (FollowedProcess *process = follower->find_process(id)) process->restore_losses(entries);
  for (const auto &[id, state] : saved)
    if (FollowedProcess *process = follower->find_process(id)) process->resolver.load(state);
}

}  // namespace slurmscope
