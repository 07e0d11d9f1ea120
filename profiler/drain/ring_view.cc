// See ring_view.h.
#include "profiler/drain/ring_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "proto/version.h"

namespace slurmscope {
namespace {

// Parses "-<number>-<number>..." behind a prefix into `numbers`; false if it is anything else.
bool parse_numbers(std::string_view text, std::string_view prefix, std::initializer_list<uint32_t *> numbers) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  bool is_first = true;
  for (uint32_t *number : numbers) {
    if (!is_first) {
      if (text.empty() || text[0] != '-') return false;
      text.remove_prefix(1);
    }
    is_first = false;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc() || end == text.data()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return text.empty();
}

// Of descriptors or memory: worth another try.
bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN; }

}  // namespace

std::optional<RingName> parse_process_name(const std::string &name) {
  RingName parsed{};
  if (!parse_numbers(name, kProcessFilePrefix, {&parsed.pid, &parsed.number})) return std::nullopt;
  return parsed;
}

std::optional<RingName> parse_ring_name(const std::string &name) {
  RingName parsed{};
  if (!parse_numbers(name, kRingFilePrefix, {&parsed.pid, &parsed.number, &parsed.ring})) return std::nullopt;
  return parsed;
}

std::unique_ptr<RingView> RingView::open(const Spool &spool, const std::string &name, bool *is_invalid) {
  *is_invalid = false;
  Descriptor file = spool.open_file(name, O_RDWR);
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) {
    *is_invalid = !is_shortage(errno);
    return nullptr;
  }
  auto size = static_cast<uint64_t>(status.st_size);
  if (size < kRingHeaderBytes) return nullptr;  // not given its size yet
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    *is_invalid = !is_shortage(errno);
    return nullptr;
  }
  auto *header = static_cast<RingFile *>(memory);
  bool is_ready = header->ready.load(std::memory_order_acquire) != 0;
  RingLayout layout{header->event_offset, header->event_count, header->definition_offset, header->definition_bytes,
                    header->sample_offset, header->sample_bytes, size};
  *is_invalid = is_ready && (header->magic != kRingMagic || header->version != kRingVersion ||
                             !is_valid_ring_layout(layout, size));
  if (!is_ready || *is_invalid) {
    munmap(memory, size);
    return nullptr;
  }
  return std::unique_ptr<RingView>(new RingView(memory, size, layout));
}

RingView::RingView(void *memory, size_t size, const RingLayout &layout)
    : file_(static_cast<RingFile *>(memory)), size_(size), layout_(layout),
      bytes_(static_cast<const uint8_t *>(memory)), position_(file_->events.tail.load(std::memory_order_relaxed)),
      definition_position_(file_->definitions.tail.load(std::memory_order_relaxed)),
      sample_position_(file_->samples.tail.load(std::memory_order_relaxed)) {}

RingView::~RingView() { munmap(file_, size_); }

uint64_t RingView::read_head() {
  uint64_t head = file_->events.head.load(std::memory_order_acquire);
  // A producer that keeps its word is never more than a ring ahead of what was taken, nor behind it; of
  // another one (the application wrote over it) nothing can be believed.
  if (head - position_ > layout_.event_count) {
    position_ = head;
    is_broken_ = true;
  }
  return head;
}

bool RingView::is_half_full() const {
  auto used = [](const RingCursor &cursor) {
    return cursor.head.load(std::memory_order_acquire) - cursor.tail.load(std::memory_order_relaxed);
  };
  return used(file_->events) >= layout_.event_count / 2 || used(file_->definitions) >= layout_.definition_bytes / 2 ||
         (layout_.sample_bytes != 0 && used(file_->samples) >= layout_.sample_bytes / 2);
}

bool RingView::has_backlog() const {
  return file_->events.head.load(std::memory_order_acquire) != position_ ||
         file_->definitions.head.load(std::memory_order_acquire) != definition_position_ ||
         (layout_.sample_bytes != 0 && file_->samples.head.load(std::memory_order_acquire) != sample_position_);
}

Event RingView::event(uint64_t position) const {
  Event copy;
  std::memcpy(static_cast<void *>(&copy),
              bytes_ + layout_.event_offset + (position & (layout_.event_count - 1)) * sizeof(Event), sizeof copy);
  return copy;
}

uint64_t RingView::end_ticks(uint64_t position) const {
  uint64_t end;
  std::memcpy(&end, bytes_ + layout_.event_offset + (position & (layout_.event_count - 1)) * sizeof(Event) +
                        offsetof(Event, end), sizeof end);
  return end;
}

EventKind RingView::kind(uint64_t position) const {
  EventKind kind;
  std::memcpy(&kind, bytes_ + layout_.event_offset + (position & (layout_.event_count - 1)) * sizeof(Event) +
                         offsetof(Event, kind), sizeof kind);
  return kind;
}

bool RingView::has_open_polls() const { return first_open_row(file_->polls) != nullptr; }

void RingView::publish_open_polls() {
  while (PollRow *row = first_open_row(file_->polls)) {
    uint64_t head = file_->events.head.load(std::memory_order_relaxed);
    if (head - file_->events.tail.load(std::memory_order_relaxed) >= layout_.event_count) return;
    Event event = event_of(*row);
    std::memcpy(reinterpret_cast<uint8_t *>(file_) + layout_.event_offset + (head & (layout_.event_count - 1)) * sizeof event,
                static_cast<const void *>(&event), sizeof event);
    row->count = 0;
    file_->events.head.store(head + 1, std::memory_order_release);
  }
}

bool RingView::take_records(RingCursor &cursor, uint64_t offset, uint64_t bytes, uint64_t *position,
                            const std::function<void(const DefinitionHeader *)> &visit) {
  if (bytes == 0) return false;
  uint64_t head = cursor.head.load(std::memory_order_acquire);
  if (head - *position > bytes) {  // out of its mind: nothing in there can be believed
    *position = head;
    return true;
  }
  while (*position != head) {
    uint64_t at = *position & (bytes - 1);
    uint64_t present = std::min(head - *position, bytes - at);
    DefinitionHeader header;
    if (present < sizeof header) break;
    std::memcpy(&header, bytes_ + offset + at, sizeof header);
    if (header.size < sizeof header || header.size % 8 != 0 || header.size > present) break;
    if (header.kind != DefinitionKind::kPadding) {
      record_.resize(header.size);
      std::memcpy(record_.data(), bytes_ + offset + at, header.size);
      std::memcpy(record_.data(), &header, sizeof header);  // the one that was checked
      visit(reinterpret_cast<const DefinitionHeader *>(record_.data()));
    }
    *position += header.size;
  }
  if (*position == head) return false;
  *position = head;
  return true;
}

bool RingView::take_definitions(const std::function<void(const DefinitionHeader *)> &visit) {
  return take_records(file_->definitions, layout_.definition_offset, layout_.definition_bytes, &definition_position_,
                      visit);
}

bool RingView::take_samples(const std::function<void(const DefinitionHeader *)> &visit) {
  return take_records(file_->samples, layout_.sample_offset, layout_.sample_bytes, &sample_position_, visit);
}

void RingView::set_taken(const Tails &tails) {
  // Never back: what lies below a tail may have been overwritten.
  position_ = std::max(position_, tails.events);
  definition_position_ = std::max(definition_position_, tails.definitions);
  sample_position_ = std::max(sample_position_, tails.samples);
  release(taken());
}

void RingView::release(const Tails &tails) {
  file_->events.tail.store(tails.events, std::memory_order_release);
  file_->definitions.tail.store(tails.definitions, std::memory_order_release);
  file_->samples.tail.store(tails.samples, std::memory_order_release);
}

bool read_process_file(const Spool &spool, const std::string &name, ProcessFile *copy, bool *is_invalid) {
  *is_invalid = false;
  Descriptor file = spool.open_file(name, O_RDONLY);
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) {
    *is_invalid = true;
    return false;
  }
  // pread, not mmap: a file that shrinks must not be a SIGBUS. Twice: what `ready` and `mpi_ready`
  // promise is only there in a copy that was begun after they were seen.
  for (int pass = 0; pass < 2; pass++) {
    if (pread(file.get(), static_cast<void *>(copy), sizeof *copy, 0) != static_cast<ssize_t>(sizeof *copy)) return false;
    if (copy->ready.load(std::memory_order_relaxed) == 0) return false;
  }
  if (copy->magic != kProcessMagic || copy->version != kRingVersion ||
      (copy->clock != ClockKind::kTsc && copy->clock != ClockKind::kMonotonic)) {
    *is_invalid = true;
    return false;
  }
  for (char *last : {&copy->mpi_library[sizeof copy->mpi_library - 1], &copy->world_id[sizeof copy->world_id - 1],
                     &copy->exe[sizeof copy->exe - 1], &copy->directory[sizeof copy->directory - 1],
                     &copy->cpu_mask[sizeof copy->cpu_mask - 1]})
    *last = 0;
  copy->command_line_size = std::min<uint32_t>(copy->command_line_size, sizeof copy->command_line);
  copy->environment_size = std::min<uint32_t>(copy->environment_size, sizeof copy->environment);
  return true;
}

}  // namespace slurmscope
