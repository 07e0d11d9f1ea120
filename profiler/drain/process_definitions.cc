// Records of the definition and sample rings into packets. See followed_process.h.
//
// A record was made by the application's process: its inner sizes are checked against its outer one.
// Each definition is taken once, also if a restarted drainer sees it again.
#include <algorithm>
#include <cstring>

#include "profiler/drain/clock_reader.h"
#include "profiler/drain/followed_process.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {

constexpr uint64_t kModulesEveryNs = 1'000'000'000, kMountsEveryNs = 1'000'000'000;
constexpr size_t kMaxCounters = 1024;

template <typename Record> bool copy_record(const DefinitionHeader *record, Record *to) {
  if (record->size < sizeof(Record)) return false;
  std::memcpy(static_cast<void *>(to), record, sizeof(Record));
  return true;
}

// `size` bytes behind the fixed part; false if there are fewer.
template <typename Record>
bool text_behind(const DefinitionHeader *record, uint32_t size, std::string_view *text) {
  if (size > record->size - sizeof(Record)) return false;
  *text = {reinterpret_cast<const char *>(record) + sizeof(Record), size};
  return true;
}

template <typename Record, typename Value>
const Value *values_behind(const DefinitionHeader *record, uint32_t count) {
  if (count > (record->size - sizeof(Record)) / sizeof(Value)) return nullptr;
  return reinterpret_cast<const Value *>(reinterpret_cast<const char *>(record) + sizeof(Record));
}

}  // namespace

void FollowedProcess::add_definition(const v1::Packet &packet) { definitions.push_back(packet.SerializeAsString()); }

bool FollowedProcess::define(const DefinitionHeader *record, FollowedRing *ring) {
  v1::Packet packet;
  std::string_view text;
  switch (record->kind) {
    case DefinitionKind::kCommunicator:
    case DefinitionKind::kCommunicatorFree:
      if (record->size < sizeof(CommunicatorDefinition)) return false;
      if (resolver.define_communicator(record, &packet)) add_definition(packet);
      return true;
    case DefinitionKind::kFile: {
      FileDefinition file;
      if (!copy_record(record, &file) || !text_behind<FileDefinition>(record, file.path_size, &text)) return false;
      if (!files_.insert(file.id).second) return true;
      packet.mutable_file()->set_process(id_);
      packet.mutable_file()->set_id(file.id);
      packet.mutable_file()->set_path(utf8_text(text));
      name_mount(file, text, packet.mutable_file());
      add_definition(packet);
      return true;
    }
    case DefinitionKind::kSite: {
      SiteDefinition site;
      if (!copy_record(record, &site)) return false;
      auto addresses = values_behind<SiteDefinition, uint64_t>(record, site.depth);
      if (addresses == nullptr) return false;
      if (!sites_.insert(site.id).second) return true;
      know_addresses(addresses, site.depth);
      packet.mutable_call_path()->set_process(id_);
      packet.mutable_call_path()->set_id(site.id);
      packet.mutable_call_path()->mutable_address()->Add(addresses, addresses + site.depth);
      packet.mutable_call_path()->set_truncated(site.truncated != 0);
      add_definition(packet);
      return true;
    }
    case DefinitionKind::kNote:
      define_note(record);
      return true;
    case DefinitionKind::kCounter:
      define_counter(record);
      return true;
    case DefinitionKind::kThread:
      define_thread(record, ring);
      return true;
    default:
      return false;
  }
}

// A mount's id means the same in every namespace, so our own table will do for a process that is gone; a path means
// what its process sees.
void FollowedProcess::name_mount(const FileDefinition &definition, std::string_view path, v1::File *file) {
  if (!path.starts_with('/')) return;
  auto look_up = [&] { return definition.mount != 0 ? mounts_.find(definition.mount) : mounts_.find_path(path); };
  const Mount *mount = look_up();
  if (uint64_t now = monotonic_ns(); mount == nullptr && now - mounts_read_ns_ >= kMountsEveryNs) {
    mounts_read_ns_ = now;
    if (watch.is_visible() && watch.is_alive()) mounts_.read(std::to_string(file_->pid));
    if (mounts_.empty() && definition.mount != 0) mounts_.read("self");
    mount = look_up();
  }
  if (mount == nullptr) return;
  file->set_filesystem(utf8_text(mount->type));
  file->set_mount(utf8_text(mount->point));
}

// A note "counter NAME: reason" says why a counter cannot be read; it becomes part of the CounterSet.
void FollowedProcess::define_note(const DefinitionHeader *record) {
  NoteDefinition note;
  std::string_view text;
  if (!copy_record(record, &note) || !text_behind<NoteDefinition>(record, note.text_size, &text)) return;
  note.time = node_ticks(note.time);
  std::string clean = utf8_text(text);
  if (!notes_.insert({note.time, clean}).second) return;
  constexpr std::string_view kCounterPrefix = "counter ";
  size_t colon = clean.find(": ");
  if (clean.starts_with(kCounterPrefix) && colon != std::string::npos) {
    std::string name = clean.substr(kCounterPrefix.size(), colon - kCounterPrefix.size());
    for (const auto &[known, reason] : counter_errors_)
      if (known == name) return;
    if (counter_errors_.size() < kMaxCounters) counter_errors_.emplace_back(name, clean.substr(colon + 2));
    define_counter_set();
    return;
  }
  v1::Packet packet;
  packet.mutable_note()->set_process(id_);
  packet.mutable_note()->set_ticks(note.time);
  packet.mutable_note()->set_text(clean);
  add_definition(packet);
}

void FollowedProcess::define_counter(const DefinitionHeader *record) {
  CounterDefinition counter;
  std::string_view name;
  if (!copy_record(record, &counter) || !text_behind<CounterDefinition>(record, counter.name_size, &name)) return;
  if (counter.id >= kMaxCounters || !counters_.emplace(counter.id, utf8_text(name)).second) return;
  define_counter_set();
}

// Again whenever it grows: the last one counts. Counters that are read come first, in the order of the values.
void FollowedProcess::define_counter_set() {
  v1::Packet packet;
  v1::CounterSet *set = packet.mutable_counter_set();
  set->set_process(id_);
  for (const auto &[id, name] : counters_) {
    while (static_cast<uint32_t>(set->names_size()) < id) {
      set->add_names("");
      set->add_errors("not defined");
    }
    set->add_names(name);
    set->add_errors("");
  }
  for (const auto &[name, reason] : counter_errors_) {
    set->add_names(name);
    set->add_errors(reason);
  }
  add_definition(packet);
}

void FollowedProcess::define_thread(const DefinitionHeader *record, FollowedRing *ring) {
  ThreadDefinition thread;
  if (!copy_record(record, &thread)) return;
  thread.time = node_ticks(thread.time);
  for (const FollowedRing::Use &use : ring->uses)
    if (use.from == thread.time) return;
  ring->uses.push_back({thread.time, ++thread_count_});
  v1::Packet packet;
  packet.mutable_thread()->set_process(id_);
  packet.mutable_thread()->set_id(thread_count_);
  packet.mutable_thread()->set_tid(thread.tid);
  packet.mutable_thread()->set_is_main(thread.is_main != 0);
  packet.mutable_thread()->set_start_ticks(thread.time);
  add_definition(packet);
}

void FollowedProcess::refresh_modules() {
  if (!watch.is_visible() || !watch.is_alive()) return;
  modules_read_ns_ = monotonic_ns();
  for (v1::Module &module : modules_.refresh(file_->pid)) {
    v1::Packet packet;
    module.set_process(id_);
    *packet.mutable_module() = std::move(module);
    add_definition(packet);
  }
}

// An address outside of all known objects: something was loaded since. Not more often than each second.
void FollowedProcess::know_addresses(const uint64_t *addresses, uint32_t depth) {
  bool is_known = std::all_of(addresses, addresses + depth, [this](uint64_t address) { return modules_.contains(address); });
  if (!is_known && monotonic_ns() - modules_read_ns_ >= kModulesEveryNs) refresh_modules();
}

uint32_t FollowedProcess::path_id(const uint64_t *addresses, uint32_t depth) {
  std::string key(reinterpret_cast<const char *>(addresses), depth * sizeof *addresses);
  auto found = sample_paths_.find(key);
  if (found != sample_paths_.end()) return found->second;
  if (sample_paths_.size() >= kMaxSamplePaths) return 0;
  uint32_t id = first_sample_path + static_cast<uint32_t>(sample_paths_.size());
  sample_paths_.emplace(std::move(key), id);
  know_addresses(addresses, depth);
  v1::Packet packet;
  packet.mutable_call_path()->set_process(id_);
  packet.mutable_call_path()->set_id(id);
  packet.mutable_call_path()->mutable_address()->Add(addresses, addresses + depth);
  add_definition(packet);
  return id;
}

// Samples of one kind and thread are gathered in one packet per batch.
void FollowedProcess::sample(const DefinitionHeader *record, FollowedRing *ring) {
  if (record->kind == DefinitionKind::kCounterSample) {
    CounterSample sample;
    if (!copy_record(record, &sample)) return;
    sample.time = node_ticks(sample.time);
    auto values = values_behind<CounterSample, int64_t>(record, sample.count);
    if (values == nullptr || sample.count == 0) return;
    uint32_t thread = ring->thread_at(sample.time);
    v1::CounterSamples *body = nullptr;
    for (v1::Packet &packet : ring->samples) {
      const v1::CounterSamples &known = packet.counter_samples();
      if (packet.has_counter_samples() && known.thread() == thread && !known.is_last() &&
          known.values_size() == known.ticks_size() * static_cast<int>(sample.count))
        body = packet.mutable_counter_samples();
    }
    if (body == nullptr) body = ring->samples.emplace_back().mutable_counter_samples();
    body->set_process(id_);
    body->set_thread(thread);
    body->add_ticks(sample.time);
    body->mutable_values()->Add(values, values + sample.count);
    body->set_is_last(sample.is_last != 0);
  } else if (record->kind == DefinitionKind::kStackSample) {
    StackSample sample;
    if (!copy_record(record, &sample)) return;
    sample.time = node_ticks(sample.time);
    auto addresses = values_behind<StackSample, uint64_t>(record, sample.depth);
    if (addresses == nullptr) return;
    uint32_t thread = ring->thread_at(sample.time);
    v1::StackSamples *body = nullptr;
    for (v1::Packet &packet : ring->samples)
      if (packet.has_stack_samples() && packet.stack_samples().thread() == thread) body = packet.mutable_stack_samples();
    if (body == nullptr) body = ring->samples.emplace_back().mutable_stack_samples();
    body->set_process(id_);
    body->set_thread(thread);
    body->add_ticks(sample.time);
    body->add_site(path_id(addresses, sample.depth));
    body->add_truncated(sample.truncated != 0);
  }
}

}  // namespace slurmscope
