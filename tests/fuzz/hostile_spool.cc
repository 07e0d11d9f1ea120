// The drainer's readers over a spool that an input describes: files that producers make, and those that a
// predecessor left. See hostile_input.h, hostile_spool.h.
//
// Only where a path from the spool would be written to (the trace file) it stops short: the batch goes into
// a trace in memory instead, which has to be readable whatever the producers did.
#include "tests/fuzz/hostile_spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include "profiler/drain/checkpoint.h"
#include "profiler/drain/follower.h"
#include "profiler/drain/journal.h"
#include "profiler/drain/output_file.h"
#include "profiler/drain/spool.h"
#include "proto/error.h"
#include "proto/ring_layout.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"
#include "proto/version.h"
#include "tests/fuzz/hostile_input.h"
#include "tests/unit/ring_maker.h"

namespace slurmscope::test {
namespace {

constexpr uint32_t kNoPid = 0x7ffffff0;  // of no process: what it left is taken, nothing else is looked at
constexpr uint64_t kEvents = 64, kDefinitionBytes = 4096, kSampleBytes = 4096;
constexpr uint64_t kMaxFileSize = uint64_t{1} << 42;

std::string process_name(uint8_t index) { return kProcessFilePrefix + std::to_string(1000 + index) + "-0"; }
std::string ring_name(uint8_t index) {
  return kRingFilePrefix + std::to_string(1000 + index % kSpoolProcesses) + "-0-" + std::to_string(index / kSpoolProcesses);
}

/// One drainer's life, as DrainWorker leads it.
class Life {
 public:
  Life(const Spool *spool, const CallRoles *roles) : journal_(spool), follower_(spool, &journal_, roles), spool_(spool) {
    uint32_t generation = 0;
    journal_.open([&](Journal::Kind kind, std::string_view content) {
      if (kind == Journal::Kind::kStream) follower_.set_generation(++generation);
      else follower_.replay(kind, content);
    });
    uint64_t stream = 1;
    journal_.add(Journal::Kind::kStream, {reinterpret_cast<const char *>(&stream), sizeof stream});
    journal_.flush();
    CommitRecord record = CommitRecord::parse(spool->read_text("commit"));
    CommitRecord::parse(record.serialize());
    load_checkpoint(*spool, record.slot_after, &follower_);
    follower_.set_tails(record.tails);
  }

  void round() {
    follower_.discover();
    follower_.watch_processes();
    spool_->step_info();
    spool_->read_tasks(&tasks_offset_);
    follower_.collect(true, true);
    follower_.take_complaints();
    journal_.flush();
    write();
    save_checkpoint(*spool_, 0, follower_, true);
    spool_->write_text("commit", CommitRecord{.tails = follower_.tails()}.serialize());
    follower_.clear_batch();
    follower_.release();
  }

 private:
  void write() {
    MemorySink sink;
    TraceWriter writer(&sink);
    v1::Packet packet;
    packet.mutable_header()->set_format_major(kFormatMajor);
    writer.write(packet);
    uint64_t rows = 0, rows_read = 0;
    for (const auto &process : follower_.processes()) {
      writer.write(process->process_packet());
      for (const std::string &definition : process->definitions) {
        if (!packet.ParseFromString(definition)) throw std::logic_error("a definition that is no packet");
        writer.write(packet);
      }
      process->definitions.clear();
      for (const auto &ring : process->rings) {
        size_t from = 0;
        for (const FollowedRing::Part &part : ring->parts) {
          writer.write_events(process->id(), part.thread, std::span(ring->rows).subspan(from, part.end - from));
          from = part.end;
        }
        rows += ring->rows.size();
        for (const v1::Packet &samples : ring->samples) writer.write(samples);
      }
      *packet.mutable_summary() = process->summary.to_packet(process->id());
      writer.write(packet);
    }
    writer.finish();
    TraceVisitor visitor;
    visitor.events = [&](uint32_t, uint32_t, const std::vector<TraceEvent> &read) { rows_read += read.size(); };
    TraceDamage damage = read_trace_bytes("written", sink.bytes, visitor);
    if (damage.damaged || rows_read != rows) throw std::logic_error("the drainer wrote what cannot be read: " + damage.reason);
  }

  Journal journal_;
  Follower follower_;
  const Spool *spool_;
  uint64_t tasks_offset_ = 0;
};

class SpoolFeeder {
 public:
  SpoolFeeder() : spool_(directory_.path()), roles_(CallRoles::built_in(&table_)) {}

  void feed(std::string_view input) {
    while (input.size() >= 4) {
      auto step = static_cast<SpoolStep>(static_cast<uint8_t>(input[0]) % static_cast<uint8_t>(SpoolStep::kCount));
      auto index = static_cast<uint8_t>(input[1]);
      size_t size = static_cast<uint8_t>(input[2]) | static_cast<size_t>(static_cast<uint8_t>(input[3])) << 8;
      input.remove_prefix(4);
      std::string_view content = input.substr(0, size);
      input.remove_prefix(content.size());
      take(step, index, content);
    }
    if (!life_) life_ = std::make_unique<Life>(&spool_, &roles_);
    life_->round();
    life_.reset();
    Life(&spool_, &roles_).round();
  }

 private:
  void take(SpoolStep step, uint8_t index, std::string_view content) {
    switch (step) {
      case SpoolStep::kProcessPatch: patch_process(index % kSpoolProcesses, content); break;
      case SpoolStep::kRingPatch: patch(ring(index % kSpoolRings), kRingHeaderBytes, content); break;
      case SpoolStep::kEvent: push_event(ring(index % kSpoolRings), content); break;
      case SpoolStep::kDefinition: push_record(ring(index % kSpoolRings), false, content, true); break;
      case SpoolStep::kSample: push_record(ring(index % kSpoolRings), true, content, true); break;
      case SpoolStep::kRawDefinition: push_record(ring(index % kSpoolRings), false, content, false); break;
      case SpoolStep::kFileSize: resize(index, content); break;
      case SpoolStep::kJournalRecord: {
        uint32_t head[2] = {index, static_cast<uint32_t>(content.size())};
        append("journal", {reinterpret_cast<const char *>(head), sizeof head});
        append("journal", content);
        break;
      }
      case SpoolStep::kJournalBytes: append("journal", content); break;
      case SpoolStep::kCheckpointPackets: spool_.write_text(checkpoint_name(index), trace_file(content)); break;
      case SpoolStep::kCheckpointBytes: spool_.write_text(checkpoint_name(index), std::string(content)); break;
      case SpoolStep::kCommit: spool_.write_text("commit", std::string(content)); break;
      case SpoolStep::kTasks: append(kTasksName, content); break;
      case SpoolStep::kStepInfo: spool_.write_text(kStepInfoName, std::string(content)); break;
      case SpoolStep::kRestart: life_.reset(); [[fallthrough]];
      case SpoolStep::kRound:
        if (rounds_++ >= 8) break;
        if (!life_) life_ = std::make_unique<Life>(&spool_, &roles_);
        life_->round();
        break;
      case SpoolStep::kCount: break;
    }
  }

  static std::string checkpoint_name(uint8_t index) { return "checkpoint." + std::to_string(index & 1); }

  void append(const std::string &name, std::string_view bytes) {
    Descriptor file = spool_.open_file(name, O_WRONLY | O_CREAT | O_APPEND);
    if (write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("spool is full");
  }

  // Over a header of `size` bytes, whose offset the content names.
  static void patch(RingFile *file, size_t size, std::string_view content) {
    if (content.size() < 2) return;
    size_t offset = (static_cast<uint8_t>(content[0]) | static_cast<size_t>(static_cast<uint8_t>(content[1])) << 8) % size;
    content = content.substr(2, size - offset);
    std::memcpy(reinterpret_cast<char *>(file) + offset, content.data(), content.size());
  }

  void patch_process(uint8_t index, std::string_view content) {
    Descriptor file = spool_.open_file(process_name(index), O_RDWR | O_CREAT);
    struct stat status;
    if (!file || fstat(file.get(), &status) != 0) throw std::runtime_error("no process file");
    if (status.st_size == 0) {
      auto process = std::make_unique<ProcessFile>();
      std::memset(static_cast<void *>(process.get()), 0, sizeof *process);
      process->magic = kProcessMagic;
      process->version = kRingVersion;
      process->pid = kNoPid;
      process->clock = ClockKind::kMonotonic;
      process->local_rank = process->local_size = process->slurm_procid = -1;
      process->ready.store(1);
      if (pwrite(file.get(), static_cast<const void *>(process.get()), sizeof *process, 0) != sizeof *process)
        throw std::runtime_error("spool is full");
    }
    if (content.size() < 2) return;
    size_t offset = (static_cast<uint8_t>(content[0]) | static_cast<size_t>(static_cast<uint8_t>(content[1])) << 8) % sizeof(ProcessFile);
    content = content.substr(2, sizeof(ProcessFile) - offset);
    if (pwrite(file.get(), content.data(), content.size(), static_cast<off_t>(offset)) < 0) throw std::runtime_error("spool is full");
  }

  // Of ring `index`, made if there was none yet. Stays mapped after the drainer has removed it.
  RingFile *ring(uint8_t index) {
    std::unique_ptr<MappedFile> &mapping = rings_[index];
    RingLayout layout = make_ring_layout(kEvents, kDefinitionBytes, kSampleBytes);
    if (!mapping) {
      mapping = std::make_unique<MappedFile>(spool_.path() + "/" + ring_name(index), layout.file_bytes);
      auto *file = static_cast<RingFile *>(mapping->memory());
      file->magic = kRingMagic;
      file->version = kRingVersion;
      file->event_offset = layout.event_offset;
      file->event_count = layout.event_count;
      file->definition_offset = layout.definition_offset;
      file->definition_bytes = layout.definition_bytes;
      file->sample_offset = layout.sample_offset;
      file->sample_bytes = layout.sample_bytes;
      file->ready.store(1);
    }
    return static_cast<RingFile *>(mapping->memory());
  }

  static void push_event(RingFile *ring, std::string_view content) {
    Event event{};
    std::memcpy(static_cast<void *>(&event), content.data(), std::min(content.size(), sizeof event));
    uint64_t head = ring->events.head.load();
    std::memcpy(reinterpret_cast<char *>(ring) + kRingHeaderBytes + head % kEvents * sizeof event, static_cast<const void *>(&event), sizeof event);
    ring->events.head.store(head + 1);
  }

  static void push_record(RingFile *ring, bool is_sample, std::string_view content, bool is_sized) {
    RingCursor &cursor = is_sample ? ring->samples : ring->definitions;
    uint64_t offset = kRingHeaderBytes + kEvents * sizeof(Event) + (is_sample ? kDefinitionBytes : 0);
    uint64_t bytes = is_sample ? kSampleBytes : kDefinitionBytes, head = cursor.head.load(), at = head % bytes;
    std::string record(content.substr(0, bytes - at));
    if (is_sized) {
      record.resize(std::min((std::max(record.size(), sizeof(DefinitionHeader)) + 7) / 8 * 8, static_cast<size_t>(bytes - at)));
      auto size = static_cast<uint32_t>(record.size());
      std::memcpy(record.data(), &size, std::min(sizeof size, record.size()));
    }
    std::memcpy(reinterpret_cast<char *>(ring) + offset + at, record.data(), record.size());
    cursor.head.store(head + record.size());
  }

  // A file that claims to be enormous, without being it. Rings only grow: cutting one is a signal to whoever has
  // it mapped, which here is the test as well.
  void resize(uint8_t index, std::string_view content) {
    uint64_t size = 0;
    std::memcpy(&size, content.data(), std::min(content.size(), sizeof size));
    size %= kMaxFileSize;
    bool is_journal = index % (kSpoolRings + 1) == kSpoolRings;
    std::string name = is_journal ? "journal" : ring_name(index % (kSpoolRings + 1));
    Descriptor file = spool_.open_file(name, O_RDWR | (is_journal ? O_CREAT : 0));
    struct stat status;
    if (!file || fstat(file.get(), &status) != 0 || (!is_journal && status.st_size >= static_cast<off_t>(size))) return;
    if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return;  // more than the file system can: nothing changed
  }

  TemporaryDirectory directory_;
  Spool spool_;
  v1::CallTable table_;
  CallRoles roles_;
  std::unique_ptr<MappedFile> rings_[kSpoolRings];
  std::unique_ptr<Life> life_;
  int rounds_ = 0;
};

}  // namespace

void feed_spool(std::string_view input) { SpoolFeeder().feed(input); }

}  // namespace slurmscope::test
