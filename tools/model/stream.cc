// See stream.h.
#include "tools/model/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "proto/error.h"
#include "tools/model/wrapped_time.h"

namespace slurmscope {

namespace {
// Far more than a node starts in a step: a file that names more is damaged, and would cost memory without end.
constexpr size_t kMaxProcesses = 1 << 16;
}  // namespace

ProcessRecord &Stream::process(uint32_t id) {
  if (processes.size() >= kMaxProcesses && !processes.contains(id))
    throw Error(fmt::format("{}: more than {} processes in one stream: the file is damaged", path, kMaxProcesses));
  ProcessRecord &record = processes[id];
  if (!record.summary) record.summary = std::make_unique<Summary>(&call_classes);
  return record;
}

std::string Stream::call_name(uint32_t call) const {
  if (call < call_names.size() && !call_names[call].empty()) return call_names[call];
  return fmt::format("call {}", call);
}

v1::CallClass Stream::call_class(uint32_t call) const {
  return call < call_classes.size() ? call_classes[call] : v1::CLASS_UNKNOWN;
}

std::string Stream::host() const {
  if (!node.host().empty()) return node.host();
  // "step0.bm1.sst": the drainer names files after the node, so a file cut before Node still tells.
  std::string stem = std::filesystem::path(path).stem().string();
  size_t dot = stem.find('.');
  return dot == std::string::npos ? "unknown" : stem.substr(dot + 1);
}

int64_t Stream::offset_ns(uint64_t ticks) const {
  if (offsets.empty()) return 0;
  auto after = offsets.lower_bound(ticks);
  if (after == offsets.begin()) return after->second.first;
  auto before = std::prev(after);
  if (after == offsets.end()) return before->second.first;
  double span = static_cast<double>(after->first - before->first);
  double part = static_cast<double>(ticks - before->first) / span;
  double step = static_cast<double>(time_between(before->second.first, after->second.first));
  return moved_time(before->second.first, part * step);
}

int64_t Stream::common_realtime_ns(uint64_t ticks) const {
  if (!solved.is_solved) return time_after(clock.realtime_ns(ticks), offset_ns(ticks));
  int64_t own = clock.steady_ns(ticks);
  return moved_time(own, solved.at(own).first);
}

uint64_t Stream::largest_offset_error_ns() const {
  uint64_t largest = 0;
  for (auto &[ticks, offset] : offsets) largest = std::max(largest, offset.second);
  for (const OffsetSample &sample : solved.samples) largest = std::max(largest, static_cast<uint64_t>(std::min(std::max(0.0, sample.error_ns), 1e18)));
  return largest;
}

void StreamSet::begin_file(const std::string &path) {
  files.push_back({path, {}, false, {}});
  current_ = nullptr;
}

void StreamSet::add_file(const std::string &path) {
  begin_file(path);
  size_t index = files.size() - 1;
  TraceVisitor visitor;
  visitor.packet = [this](const v1::Packet &packet) { visit(packet); };
  files[index].damage = read_trace(path, visitor);
}

void StreamSet::add_bytes(const std::string &name, std::string_view bytes) {
  begin_file(name);
  size_t index = files.size() - 1;
  TraceVisitor visitor;
  visitor.packet = [this](const v1::Packet &packet) { visit(packet); };
  files[index].damage = read_trace_bytes(name, bytes, visitor);
}

// The files of one drainer's life share an id: they are one stream.
Stream *StreamSet::find(uint64_t stream_id) {
  for (auto &stream : streams)
    if (stream->header.stream_id() == stream_id && stream_id != 0) return stream.get();
  return nullptr;
}

void StreamSet::complete_from_events() {
  auto is_open = [](const Stream &stream) { return !stream.end && stream.header.mode() == v1::Header::MODE_TRACE; };
  if (std::none_of(streams.begin(), streams.end(), [&](const auto &stream) { return is_open(*stream); })) return;
  std::map<std::pair<Stream *, uint32_t>, Summary> folds;
  Stream *stream = nullptr;
  TraceVisitor visitor;
  visitor.packet = [&](const v1::Packet &packet) {
    if (!packet.has_header()) return;
    stream = find(packet.header().stream_id());
    if (stream && !is_open(*stream)) stream = nullptr;
  };
  visitor.events = [&](uint32_t process, uint32_t, const std::vector<TraceEvent> &rows) {
    if (!stream) return;
    Summary &fold = folds.try_emplace({stream, process}, &stream->call_classes).first->second;
    for (const TraceEvent &row : rows) fold.add(row);
  };
  for (const LoadedFile &file : files) {
    stream = nullptr;
    if (file.error.empty()) read_trace(file.path, visitor);
  }
  auto calls_of = [](const Summary &summary) {
    uint64_t count = 0;
    for (const auto &[key, stats] : summary.calls) count += stats.count;
    return count;
  };
  for (auto &[key, fold] : folds) {
    Summary &summary = *key.first->process(key.second).summary;
    if (calls_of(fold) > calls_of(summary)) summary = std::move(fold);
  }
}

void StreamSet::visit(const v1::Packet &packet) {
  if (packet.has_header()) {
    current_ = find(packet.header().stream_id());
    if (!current_) {
      streams.push_back(std::make_unique<Stream>());
      current_ = streams.back().get();
      current_->path = files.empty() ? std::string() : files.back().path;
      current_->header = packet.header();
    }
    return;
  }
  if (packet.has_index()) {
    if (!files.empty()) files.back().has_index = true;
    return;
  }
  if (!current_) return;  // packets without a header mean nothing; read_trace reports such files
  Stream &s = *current_;
  switch (packet.body_case()) {
    case v1::Packet::kRun:
      s.run = packet.run();
      s.has_run = true;
      break;
    case v1::Packet::kNode:
      s.node = packet.node();
      if (s.node.ticks_per_second() > 0) s.clock.set_ticks_per_second(s.node.ticks_per_second());
      break;
    case v1::Packet::kProcess: {
      ProcessRecord &p = s.process(packet.process().id());
      p.info = packet.process();
      p.defined = true;
      break;
    }
    case v1::Packet::kThread:
      s.process(packet.thread().process()).threads[packet.thread().id()] = packet.thread();
      break;
    case v1::Packet::kClockAnchors:
      s.clock.add(packet.clock_anchors());
      break;
    case v1::Packet::kClockOffset:
      s.offsets[packet.clock_offset().ticks()] = {packet.clock_offset().offset_ns(), packet.clock_offset().error_ns()};
      break;
    case v1::Packet::kCallTable:
      s.call_names.clear();
      s.call_classes.clear();
      for (const v1::Call &call : packet.call_table().calls()) {
        s.call_names.push_back(call.name());
        s.call_classes.push_back(call.class_());
      }
      break;
    case v1::Packet::kCommunicator:
      s.process(packet.communicator().process()).communicators[packet.communicator().id()] = packet.communicator();
      break;
    case v1::Packet::kFile:
      s.process(packet.file().process()).files[packet.file().id()] = packet.file();
      break;
    case v1::Packet::kCallPath: {
      const v1::CallPath &path = packet.call_path();
      s.process(path.process()).call_paths[path.id()] = {{path.address().begin(), path.address().end()}, path.truncated()};
      break;
    }
    case v1::Packet::kModule:
      s.process(packet.module().process()).modules.push_back(packet.module());
      break;
    case v1::Packet::kSummary:
      s.process(packet.summary().process()).summary->merge(packet.summary());
      break;
    case v1::Packet::kCounterSet:
      s.process(packet.counter_set().process()).counter_set = packet.counter_set();
      break;
    case v1::Packet::kCounterSamples: {
      const v1::CounterSamples &samples = packet.counter_samples();
      int rows = samples.ticks_size();
      if (rows == 0 || samples.values_size() % rows != 0) break;
      int width = samples.values_size() / rows;
      CounterLast &last = s.process(samples.process()).counters[samples.thread()];
      if (samples.ticks(rows - 1) < last.ticks) break;
      last.ticks = samples.ticks(rows - 1);
      last.values.assign(samples.values().end() - width, samples.values().end());
      last.is_last = samples.is_last();
      break;
    }
    case v1::Packet::kStackSamples: {
      ProcessRecord &p = s.process(packet.stack_samples().process());
      for (uint32_t site : packet.stack_samples().site()) ++p.samples[site];
      break;
    }
    case v1::Packet::kLoss:
      s.losses[{packet.loss().process(), packet.loss().thread(), packet.loss().reason()}] = packet.loss();
      break;
    case v1::Packet::kTask:
      s.tasks[packet.task().task()] = packet.task();
      break;
    case v1::Packet::kNote:
      s.notes.push_back(packet.note());
      break;
    case v1::Packet::kStreamEnd:
      s.end = packet.stream_end();
      break;
    default:
      break;  // of a newer writer, or only of use to other tools
  }
}

void StreamSet::finish() {
  for (auto &stream : streams) stream->clock.prepare();
}

}  // namespace slurmscope
