// One process of a stream into one RankModel: span, categories, calls, files, counters.
//
// Called by build_worlds(). Pure over the stream.
#include "tools/model/rank.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "tools/model/wrapped_time.h"

namespace slurmscope {
namespace {

double &at(CategoryTimes &times, Category category) { return times[static_cast<size_t>(category)]; }

void add_calls(const Stream &stream, const Summary &summary, double seconds_per_tick, RankModel *rank) {
  std::map<std::string, CallTotals> totals;
  for (const auto &[key, stats] : summary.calls) {
    CallTotals &call = totals[stream.call_name(key.call)];
    bool first = call.count == 0;
    call.name = stream.call_name(key.call);
    call.call_class = stream.call_class(key.call);
    call.bytes += stats.bytes;
    call.seconds_per_tick = seconds_per_tick;
    if (stats.count == 0) continue;  // only bytes: a receive that another call completed
    call.count += stats.count;
    call.failed += stats.failed;
    call.seconds += stream.clock.seconds(static_cast<double>(stats.ticks));
    double low = static_cast<double>(stats.min_ticks) * seconds_per_tick;
    double high = static_cast<double>(stats.max_ticks) * seconds_per_tick;
    call.min_seconds = first ? low : std::min(call.min_seconds, low);
    call.max_seconds = std::max(call.max_seconds, high);
    call.durations.merge(stats.durations);
  }
  for (auto &[name, call] : totals) {
    at(rank->categories, category_of(call.call_class)) += call.seconds;
    if (is_mpi(call.call_class)) rank->mpi_s += call.seconds;
    if (is_io(call.call_class)) rank->io_s += call.seconds;
    rank->calls.push_back(std::move(call));
  }
}

void add_files(const Stream &stream, const ProcessRecord &record, RankModel *rank) {
  std::map<std::string, FileTotals> totals;
  for (const auto &[id, stats] : record.summary->files) {
    auto known = record.files.find(id);
    std::string path = known == record.files.end() ? fmt::format("(file {})", id) : known->second.path();
    FileTotals &file = totals[path];
    file.path = path;
    if (known != record.files.end()) {
      file.filesystem = known->second.filesystem();
      file.mount = known->second.mount();
    }
    file.stats.merge(stats);
  }
  for (auto &[path, file] : totals) {
    file.read_seconds = stream.clock.seconds(static_cast<double>(file.stats.read_ticks));
    file.write_seconds = stream.clock.seconds(static_cast<double>(file.stats.write_ticks));
    file.metadata_seconds = stream.clock.seconds(static_cast<double>(file.stats.metadata_ticks));
    Span use = file.stats.reading;
    use.add(file.stats.writing.first_ticks, file.stats.writing.last_ticks);
    file.reading_seconds = stream.clock.seconds(static_cast<double>(file.stats.reading.ticks()));
    file.writing_seconds = stream.clock.seconds(static_cast<double>(file.stats.writing.ticks()));
    file.use_seconds = stream.clock.seconds(static_cast<double>(use.ticks()));
    rank->files.push_back(std::move(file));
  }
}

void add_counters(const ProcessRecord &record, RankModel *rank) {
  if (!record.counter_set) return;
  const v1::CounterSet &set = *record.counter_set;
  for (int i = 0; i < set.names_size(); ++i) {
    CounterValue counter;
    counter.name = set.names(i);
    if (i < set.errors_size()) counter.error = set.errors(i);
    if (counter.error.empty()) {
      counter.complete = !record.counters.empty();
      for (const auto &[thread, last] : record.counters) {
        if (static_cast<size_t>(i) >= last.values.size()) continue;
        counter.value = counter.value.value_or(0) + last.values[static_cast<size_t>(i)];
        counter.complete = counter.complete && last.is_last;
      }
      if (!counter.value) counter.error = "no value was read";
    }
    rank->counters.push_back(std::move(counter));
  }
}

/// Start and end of the rank in ticks. The span is MPI_Init's entry to MPI_Finalize's exit, widened to
/// the first and last recorded call: calls outside it could not be told apart in a summary.
std::pair<uint64_t, uint64_t> span_ticks(const ProcessRecord &record) {
  const v1::Process &info = record.info;
  const Summary &summary = *record.summary;
  uint64_t start = info.has_init_start_ticks() ? info.init_start_ticks() : info.attach_ticks();
  if (summary.span.first_ticks != 0 && (start == 0 || summary.span.first_ticks < start)) start = summary.span.first_ticks;
  uint64_t end = 0;
  if (info.has_finalize_end_ticks()) end = info.finalize_end_ticks();
  else if (info.has_end_ticks()) end = info.end_ticks();
  end = std::max(end, summary.span.last_ticks);
  return {start, std::max(start, end)};
}

}  // namespace

RankModel make_rank(const Stream &stream, uint32_t process_id, const ProcessRecord &record) {
  RankModel rank;
  rank.stream = &stream;
  rank.process_id = process_id;
  rank.record = &record;
  rank.host = stream.host();
  rank.is_mpi = record.info.has_world_rank();
  rank.rank = rank.is_mpi ? record.info.world_rank() : 0;
  rank.init_seen = record.info.has_init_start_ticks();
  rank.finalize_seen = record.info.has_finalize_end_ticks();
  rank.still_open = !record.info.has_end_ticks() && !rank.finalize_seen && !stream.end;
  if (record.info.has_wait_status()) rank.wait_status = record.info.wait_status();

  constexpr double kProbe = 1e9;  // ticks; large enough that rounding does not show
  double seconds_per_tick = stream.clock.usable() ? stream.clock.seconds(kProbe) / kProbe : 0;
  auto [start, end] = span_ticks(record);
  rank.wall_s = stream.clock.usable() ? stream.clock.seconds(static_cast<double>(end - start)) : 0;
  if (stream.clock.usable() && start != 0) {
    rank.start_ns = stream.common_realtime_ns(start);
    rank.end_ns = moved_time(rank.start_ns, rank.wall_s * 1e9);
  }
  if (stream.clock.usable()) add_calls(stream, *record.summary, seconds_per_tick, &rank);
  for (const auto &[key, loss] : stream.losses)
    if (std::get<0>(key) == process_id && std::get<2>(key) == "stall")
      at(rank.categories, Category::kTool) += stream.clock.seconds(static_cast<double>(loss.ticks()));
  rank.peers = record.summary->peers;
  add_files(stream, record, &rank);
  add_counters(record, &rank);
  return rank;
}

void close_categories(RankModel *rank, double world_wall_s) {
  double known = 0;
  for (size_t i = 0; i < kCategoryCount; ++i) {
    Category category = static_cast<Category>(i);
    if (category != Category::kCompute && category != Category::kSkew && category != Category::kOverlap)
      known += rank->categories[i];
  }
  // Calls of several threads at once can be longer than the wall time: shown, not hidden in compute.
  double compute = rank->wall_s - known;
  at(rank->categories, Category::kCompute) = std::max(0.0, compute);
  at(rank->categories, Category::kOverlap) = std::min(0.0, compute);
  at(rank->categories, Category::kSkew) = std::max(0.0, world_wall_s - rank->wall_s);
}

double merged_quantile(const std::vector<ScaledHistogram> &parts, double q) {
  std::vector<std::pair<double, uint64_t>> values;
  uint64_t total = 0;
  for (const ScaledHistogram &part : parts)
    for (auto [bucket, count] : part.histogram->counts()) {
      // Below two octaves a bucket is one value; above, its middle stands for all in it.
      uint32_t shift = bucket < (2u << Histogram::kSubBits) ? 0 : (bucket >> Histogram::kSubBits) - 1;
      double middle = static_cast<double>(Histogram::lower_bound(bucket)) + (static_cast<double>(uint64_t{1} << shift) - 1) / 2;
      values.emplace_back(middle * part.seconds_per_tick, count);
      total += count;
    }
  if (total == 0) return 0;
  std::sort(values.begin(), values.end());
  uint64_t wanted = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(q * static_cast<double>(total))));
  uint64_t seen = 0;
  for (auto [value, count] : values)
    if ((seen += count) >= wanted) return value;
  return values.back().first;
}

std::string wait_status_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    int number = WTERMSIG(wait_status);
    const char *name = sigdescr_np(number);
    return name ? fmt::format("signal {} ({})", number, name) : fmt::format("signal {}", number);
  }
  return fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

std::string end_text(const RankModel &rank) {
  std::string text;
  if (rank.wait_status) text = wait_status_text(*rank.wait_status);
  if (rank.is_mpi && rank.init_seen && !rank.finalize_seen) {
    const char *what = rank.still_open ? "still running when the trace ends" : "without MPI_Finalize";
    text += text.empty() ? what : fmt::format(", {}", what);
  }
  return text;
}

bool ended_badly(const RankModel &rank) {
  if (rank.wait_status && *rank.wait_status != 0) return true;
  return rank.is_mpi && rank.init_seen && !rank.finalize_seen;
}

}  // namespace slurmscope
