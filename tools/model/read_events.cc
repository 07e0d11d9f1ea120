// See read_events.h.
#include "tools/model/read_events.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/model/clock_offsets.h"
#include "tools/model/synchronising_calls.h"
#include "tools/model/wrapped_time.h"

namespace slurmscope {
namespace {

using ProcessKey = std::pair<const Stream *, uint32_t>;

constexpr uint32_t kNoEndpoint = UINT32_MAX;

/// Rows are missing in the middle: the n-th send need not belong to the n-th receive any more.
bool has_holes(const World &world) {
  return std::any_of(world.losses.begin(), world.losses.end(), [](const LossModel &loss) { return loss.loses_events && loss.count > 0; });
}

class EventPass {
 public:
  explicit EventPass(RunModel *run)
      : run_(run), matcher_([this](const MatchedMessage &message) { add_message(message); }),
        collectives_([this](size_t from, size_t to, int64_t sent, int64_t received) { add_bound(from, to, sent, received); }) {
    for (size_t i = 0; i < run->set.streams.size(); ++i) {
      const Stream *stream = run->set.streams[i].get();
      clock_of_[stream] = i;
      auto [first, last] = stream->clock.span();
      spans_.push_back({stream->clock.steady_ns(first), stream->clock.steady_ns(last)});
      std::vector<int> &operations = operations_[stream];
      for (const std::string &name : stream->call_names) operations.push_back(synchronising_operation(name));
    }
    for (size_t w = 0; w < run->worlds.size(); ++w) {
      const World &world = run->worlds[w];
      for (const RankModel &rank : world.ranks) add_process(rank, static_cast<uint32_t>(w), world);
      for (const RankModel &rank : world.others) processes_[{rank.stream, rank.process_id}];
    }
  }

  void begin_file() { stream_ = nullptr; }
  void see(const v1::Packet &packet) {
    if (!packet.has_header()) return;
    stream_ = nullptr;
    for (const auto &stream : run_->set.streams)
      if (stream->header.stream_id() == packet.header().stream_id()) stream_ = stream.get();
  }
  void see(uint32_t id, uint32_t thread, const std::vector<TraceEvent> &rows) {
    auto found = processes_.find({stream_, id});
    if (found == processes_.end()) return;
    ProcessState &process = found->second;
    for (const TraceEvent &row : rows) {
      process.gaps.add(thread, row, stream_->call_class(row.call) == v1::CLASS_SETUP);
      if (process.endpoint == kNoEndpoint) continue;
      matcher_.add(process.endpoint, row);
      if (row.kind == RowKind::kCall) add_collective(&process, row);
    }
  }
  void finish() {
    collectives_.finish();
    matcher_.finish();
    solve();
  }

  /// Into the worlds, which were built again since.
  void attach() {
    for (size_t w = 0; w < run_->worlds.size(); ++w) {
      World &world = run_->worlds[w];
      for (std::vector<RankModel> *ranks : {&world.ranks, &world.others})
        for (RankModel &rank : *ranks) attach_gaps(&rank);
      if (!world.is_mpi || world.ranks.empty()) continue;
      auto first = processes_.find({world.ranks.front().stream, world.ranks.front().process_id});
      world.messages = matcher_.counts(first->second.world);
      if (world.messages->size_differs > 0 || has_holes(world))
        world.notes.push_back({"", "calls are missing from the trace: messages may be matched with the wrong partner, so they "
                                   "were not used to compare clocks", {}});
    }
  }
  void attach_pairs(World *world) {
    std::set<size_t> present;
    for (const Stream *stream : world->streams) present.insert(clock_of_[stream]);
    for (const auto &[pair, bounds] : bounds_)
      if (present.count(pair.first) && present.count(pair.second)) attach_pair(pair, bounds, world);
    for (const auto &[clock, latency] : within_)
      if (present.count(clock)) {
        std::string host = run_->set.streams[clock]->host();
        ClockPairModel model{host, host, latency.count, 0, latency.least_ns, {}, latency.error_ns, 0};
        model.excess_ns = std::max(0.0, -latency.least_ns - latency.error_ns - ClockPairBounds::kToleranceNs);
        world->clock_pairs.push_back(model);
      }
  }

 private:
  struct ProcessState {
    uint32_t endpoint = kNoEndpoint, world = 0;
    size_t clock = 0;
    double shift_error_ns = 0;                                      // of its time namespace
    bool orders_clocks = false;                                     // its messages may be used for that
    const ProcessRecord *record = nullptr;
    const Stream *stream = nullptr;
    std::map<std::pair<uint32_t, int>, uint64_t> uses;              // of a communicator by an operation
    GapFinder gaps;
  };
  struct Latency { uint64_t count = 0; double least_ns = INFINITY, error_ns = 0; };

  void add_process(const RankModel &rank, uint32_t w, const World &world) {
    ProcessState &process = processes_[{rank.stream, rank.process_id}];
    process.world = w;
    process.clock = clock_of_[rank.stream];
    process.record = rank.record;
    process.stream = rank.stream;
    if (rank.stream->node.clock() == v1::Node::CLOCK_KIND_MONOTONIC)
      process.shift_error_ns = static_cast<double>(rank.record->info.monotonic_shift_error_ns());
    if (!world.is_mpi) return;
    process.orders_clocks = !has_holes(world) && rank.stream->clock.usable();
    process.endpoint = matcher_.add_endpoint(w, rank.rank, &rank.stream->call_classes, rank.record->threads.size() > 1);
    for (const auto &[id, communicator] : rank.record->communicators)
      matcher_.define_communicator(process.endpoint, id, communicator.gid());
    endpoints_.push_back(&process);  // a map's entries stay where they are
  }

  void add_message(const MatchedMessage &message) {
    const ProcessState &source = *endpoints_[message.source], &destination = *endpoints_[message.destination];
    if (!source.orders_clocks || !destination.orders_clocks) return;
    if (source.clock == destination.clock) {
      double ticks = static_cast<double>(static_cast<int64_t>(message.receive.end - message.send.start));
      Latency &latency = within_[source.clock];
      ++latency.count;
      latency.error_ns = std::max(latency.error_ns, source.shift_error_ns + destination.shift_error_ns);
      latency.least_ns = std::min(latency.least_ns, source.stream->clock.seconds(ticks) * 1e9);
      return;
    }
    if (message.send.bytes != message.receive.bytes) return;
    add_bound(source.clock, destination.clock, source.stream->clock.steady_ns(message.send.start),
              destination.stream->clock.steady_ns(message.receive.end));
  }

  void add_collective(ProcessState *process, const TraceEvent &row) {
    const std::vector<int> &operations = operations_[process->stream];
    int operation = row.call < operations.size() ? operations[row.call] : -1;
    if (operation < 0 || run_->set.streams.size() < 2) return;
    uint64_t use = process->uses[{row.object, operation}]++;
    auto communicator = process->record->communicators.find(row.object);
    if (communicator == process->record->communicators.end() || communicator->second.remote_size() > 0) return;
    if (!process->orders_clocks || (row.flags & kRowFailed) || !does_synchronise(operation, row.bytes)) return;
    collectives_.add(communicator->second.gid() ^ process->world * 0x9e3779b97f4a7c15u, operation, use, communicator->second.size(),
                     process->clock, process->stream->clock.steady_ns(row.start), process->stream->clock.steady_ns(row.end));
  }

  void add_bound(size_t from, size_t to, int64_t sent, int64_t received) {
    ClockPair pair{std::min(from, to), std::max(from, to)};
    ClockPairBounds &bounds = bounds_.try_emplace(pair, spans_[pair.first].first_ns, spans_[pair.first].last_ns).first->second;
    if (from < to) bounds.add_a_to_b(sent, received);
    else bounds.add_b_to_a(sent, received);
  }

  void solve() {
    auto first = std::find_if(run_->worlds.begin(), run_->worlds.end(), [](const World &world) { return world.is_mpi; });
    if (bounds_.empty() || first == run_->worlds.end()) return;
    size_t reference = clock_of_[first->ranks.front().stream];
    std::vector<SolvedClock> solved = solve_clocks(spans_, reference, bounds_);
    for (size_t i = 0; i < solved.size(); ++i)
      if (run_->set.streams[i]->offsets.empty()) run_->set.streams[i]->solved = std::move(solved[i]);
  }

  void attach_gaps(RankModel *rank) {
    auto found = processes_.find({rank->stream, rank->process_id});
    if (found == processes_.end()) return;
    uint32_t main = 0;
    for (const auto &[id, thread] : rank->record->threads)
      if (thread.is_main()) main = id;
    rank->gaps = found->second.gaps.result(main);
  }

  void attach_pair(const ClockPair &pair, const ClockPairBounds &bounds, World *world) {
    const Stream &a = *run_->set.streams[pair.first], &b = *run_->set.streams[pair.second];
    // D of the pair on the common time line: what b gets added, less what a gets.
    bool is_known = a.has_known_offset() && b.has_known_offset();
    auto difference = [&](int64_t ns_of_a) -> std::pair<double, double> {
      auto [of_a, error_a] = offset_at(a, ns_of_a);
      // b's own time of that moment: its offset hardly changes over the error of this guess.
      int64_t common = moved_time(ns_of_a, of_a);
      auto [guess, ignored] = offset_at(b, common);
      auto [of_b, error_b] = offset_at(b, moved_time(common, -guess));
      return {of_b - of_a, error_a + error_b};
    };
    ClockPairBounds::Latency latency = bounds.latency(difference);
    world->clock_pairs.push_back({a.host(), b.host(), bounds.a_to_b(), bounds.b_to_a(), latency.a_to_b, latency.b_to_a,
                                  is_known ? latency.error : INFINITY, is_known ? latency.excess : 0});
  }

  /// Offset and error of a stream at a time of its own, or, for want of it, about then.
  std::pair<double, double> offset_at(const Stream &stream, int64_t ns) const {
    if (stream.solved.is_solved) return stream.solved.at(ns);
    if (stream.offsets.empty()) return {0, 0};
    // Measured ones are by ticks: the ends of the run are near enough.
    auto measured = stream.offsets.begin()->second;
    return {static_cast<double>(measured.first), static_cast<double>(stream.largest_offset_error_ns())};
  }

  RunModel *run_;
  MessageMatcher matcher_;
  SynchronisingCalls collectives_;
  std::map<const Stream *, size_t> clock_of_;
  std::map<const Stream *, std::vector<int>> operations_;
  std::vector<ClockSpan> spans_;
  std::map<ProcessKey, ProcessState> processes_;
  std::vector<const ProcessState *> endpoints_;
  std::map<ClockPair, ClockPairBounds> bounds_;
  std::map<size_t, Latency> within_;
  Stream *stream_ = nullptr;
};

ClockModel clock_model(const Stream &stream, const RunModel &run, const Stream *reference) {
  ClockModel model;
  model.stream = &stream;
  auto [first, last] = stream.clock.span();
  if (&stream == reference && !stream.solved.via) {
    model.method = ClockModel::Method::kReference;
  } else if (stream.solved.is_solved) {
    const SolvedClock &solved = stream.solved;
    model.method = ClockModel::Method::kMessages;
    if (solved.via) model.via = run.set.streams[*solved.via]->host();
    model.pairs = solved.pairs;
    std::tie(model.start_offset_ns, model.start_error_ns) = solved.at(stream.clock.steady_ns(first));
    std::tie(model.end_offset_ns, model.end_error_ns) = solved.at(stream.clock.steady_ns(last));
    model.drift_ppm = solved.drift_ppm();
    for (const OffsetSample &step : solved.steps)
      model.steps.push_back({moved_time(step.at_ns, solved.at(step.at_ns).first), step.offset_ns});
  } else if (!stream.offsets.empty()) {
    model.method = ClockModel::Method::kMeasured;
    model.start_offset_ns = static_cast<double>(stream.offsets.begin()->second.first);
    model.start_error_ns = static_cast<double>(stream.offsets.begin()->second.second);
    model.end_offset_ns = static_cast<double>(stream.offsets.rbegin()->second.first);
    model.end_error_ns = static_cast<double>(stream.offsets.rbegin()->second.second);
    double span = stream.clock.seconds(static_cast<double>(stream.offsets.rbegin()->first - stream.offsets.begin()->first));
    if (span > 0) model.drift_ppm = (model.end_offset_ns - model.start_offset_ns) / span * 1e-3;
  } else {
    model.start_error_ns = model.end_error_ns = INFINITY;
    model.is_one_way = stream.solved.is_one_way;
  }
  return model;
}

void read_events(RunModel *run, bool wants_all, const std::function<void(EventPass *)> &read) {
  bool has_rows = std::any_of(run->set.streams.begin(), run->set.streams.end(),
                              [](const auto &stream) { return stream->header.mode() == v1::Header::MODE_TRACE; });
  bool spans_clocks = std::any_of(run->worlds.begin(), run->worlds.end(), [](const World &world) {
    return world.is_mpi && std::any_of(world.ranks.begin(), world.ranks.end(),
                                       [&](const RankModel &rank) { return rank.stream != world.ranks.front().stream; });
  });
  EventPass pass(run);
  bool reads = has_rows && (wants_all || spans_clocks);
  if (reads) {
    read(&pass);
    pass.finish();
    run->worlds = build_worlds(run->set);
    pass.attach();
  }
  for (World &world : run->worlds) {
    const Stream *reference = world.ranks.front().stream;
    world.clocks.push_back(clock_model(*reference, *run, reference));
    for (const Stream *stream : world.streams)
      if (stream != reference) world.clocks.push_back(clock_model(*stream, *run, reference));
    if (reads) pass.attach_pairs(&world);
  }
}

TraceVisitor visitor_of(EventPass *pass) {
  TraceVisitor visitor;
  visitor.packet = [pass](const v1::Packet &packet) { pass->see(packet); };
  visitor.events = [pass](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) { pass->see(process, thread, rows); };
  return visitor;
}

}  // namespace

void read_events(RunModel *run, bool wants_all) {
  read_events(run, wants_all, [&](EventPass *pass) {
    for (const LoadedFile &file : run->set.files) {
      if (!file.error.empty()) continue;
      pass->begin_file();
      read_trace(file.path, visitor_of(pass));
    }
  });
}

void read_events(RunModel *run, bool wants_all, const std::vector<std::string> &files) {
  read_events(run, wants_all, [&](EventPass *pass) {
    for (size_t i = 0; i < files.size(); ++i) {
      pass->begin_file();
      read_trace_bytes(run->set.files[i].path, files[i], visitor_of(pass));
    }
  });
}

}  // namespace slurmscope
