// Time in the report: the nodes' clocks, messages that contradict them, and the largest gaps of the ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/export/exporters.h"
#include "tools/model/wrapped_time.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUs = 1e-3, kSecond = 1e-9;  // of a nanosecond

const char *method_name(ClockModel::Method method) {
  switch (method) {
    case ClockModel::Method::kReference: return "reference";
    case ClockModel::Method::kMessages: return "messages";
    case ClockModel::Method::kMeasured: return "measured";
    case ClockModel::Method::kWallClock: break;
  }
  return "wall clock";
}

std::string method_text(const ClockModel &clock) {
  if (clock.method == ClockModel::Method::kMessages)
    return fmt::format("messages: {} pairs with {}", grouped(clock.pairs), clock.via);
  if (clock.method == ClockModel::Method::kWallClock)
    return clock.is_one_way ? "wall clock: messages went one way only" : "wall clock";
  return method_name(clock.method);
}

const char *ticks_name(const v1::Node &node) {
  return node.clock() == v1::Node::CLOCK_KIND_TSC ? "TSC" : node.clock() == v1::Node::CLOCK_KIND_MONOTONIC ? "CLOCK_MONOTONIC" : "";
}

/// A duration with sign in the unit that reads well.
std::string time_text(double ns) {
  double size = std::abs(ns);
  if (size >= 1e9) return fmt::format("{:.6g} s", ns * 1e-9);
  if (size >= 1e6) return fmt::format("{:.3f} ms", ns * 1e-6);
  return fmt::format("{:.2f} us", ns * 1e-3);
}

Cell micros(double ns) { return std::isfinite(ns) ? Cell{ns * kUs} : Cell{}; }
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(const std::optional<double> &ns) { return ns ? number(*ns * kUs) : Json(nullptr); }

double since_start(const World &world, int64_t realtime_ns) { return static_cast<double>(time_between(world.start_ns, realtime_ns)) * kSecond; }

std::vector<const RankModel *> shifted_ranks(const World &world) {
  std::vector<const RankModel *> result;
  for (const RankModel &rank : world.ranks)
    if (rank.record->info.monotonic_shift_ns() != 0) result.push_back(&rank);
  return result;
}

std::string step_text(const World &world, const ClockModel &clock, const ClockModel::Step &step) {
  std::string size = step.size_ns == 0 ? "" : fmt::format(" by {}", time_text(step.size_ns));
  return fmt::format("clock of {} stepped{} against {} {:.3f} s after the start: times across it are not comparable",
                     clock.stream->host(), size, clock.via, since_start(world, step.at_ns));
}

std::string excess_text(const ClockPairModel &pair) {
  if (pair.a == pair.b)
    return fmt::format("{}: a message was received {} before it was sent: its processors' clocks differ", pair.a, time_text(pair.excess_ns));
  return fmt::format("{} and {}: a message arrives {} before it was sent, beyond the clocks' error: a clock stepped", pair.a, pair.b,
                     time_text(pair.excess_ns));
}

/// A rank that was outside of all calls for most of [start, start + length), if there is one.
const RankModel *idle_meanwhile(const World &world, const RankModel &rank, int64_t start, double length_ns) {
  const RankModel *best = nullptr;
  double most = length_ns / 2;
  for (const RankModel &other : world.ranks) {
    if (&other == &rank || !other.gaps || other.start_ns == 0) continue;
    int64_t from = other.stream->common_realtime_ns(other.gaps->outside.start);
    double ahead = static_cast<double>(time_between(start, from));
    double until = ahead + other.stream->clock.seconds(static_cast<double>(other.gaps->outside.ticks)) * 1e9;
    double common = std::min(length_ns, until) - std::max(0.0, ahead);
    if (common <= most) continue;
    most = common;
    best = &other;
  }
  return best;
}

struct GapView {
  double outside_s, inside_s;
  int64_t outside_ns, inside_ns;  // common time
};
GapView view_of(const RankModel &rank) {
  const Stream &stream = *rank.stream;
  const LargestGaps &gaps = *rank.gaps;
  return {stream.clock.seconds(static_cast<double>(gaps.outside.ticks)), stream.clock.seconds(static_cast<double>(gaps.inside.ticks)),
          stream.common_realtime_ns(gaps.outside.start), stream.common_realtime_ns(gaps.inside.start)};
}

}  // namespace

Table clock_table(const World &world) {
  Table table{"clocks", "CLOCKS (what is added to a node's time to read as the reference)",
              {{"node", "", ColumnKind::kText}, {"source", "", ColumnKind::kText}, {"ticks", "", ColumnKind::kText},
               {"method", "", ColumnKind::kText}, {"at start", "us", ColumnKind::kMicros}, {"+-", "us", ColumnKind::kMicros},
               {"at end", "us", ColumnKind::kMicros}, {"+-", "us", ColumnKind::kMicros}, {"drift", "ppm", ColumnKind::kMicros}}, {}, {}};
  std::vector<const RankModel *> shifted = shifted_ranks(world);
  bool is_wrong = std::any_of(world.clock_pairs.begin(), world.clock_pairs.end(), [](const ClockPairModel &p) { return p.excess_ns > 0; });
  if (world.clocks.size() < 2 && shifted.empty() && !is_wrong) return table;
  for (const ClockModel &clock : world.clocks) {
    bool is_wall = clock.method == ClockModel::Method::kWallClock;
    table.rows.push_back({clock.stream->host(), clock.stream->node.clock_source(), ticks_name(clock.stream->node), method_text(clock),
                          micros(is_wall ? NAN : clock.start_offset_ns), micros(clock.start_error_ns),
                          micros(is_wall ? NAN : clock.end_offset_ns), micros(clock.end_error_ns),
                          is_wall ? Cell{} : Cell{clock.drift_ppm}});
    if (is_wall) table.notes.push_back(fmt::format("{}: error not known: its times are as its wall clock was set", clock.stream->host()));
    for (const ClockModel::Step &step : clock.steps) table.notes.push_back(step_text(world, clock, step));
  }
  for (const ClockPairModel &pair : world.clock_pairs) {
    if (pair.excess_ns > 0) table.notes.push_back(excess_text(pair));
    if (table.rows.size() > 8 || pair.a == pair.b || !pair.least_a_to_b_ns || !pair.least_b_to_a_ns) continue;
    table.notes.push_back(fmt::format("smallest latency {} to {}: {}, back: {}", pair.a, pair.b, time_text(*pair.least_a_to_b_ns),
                                      time_text(*pair.least_b_to_a_ns)));
  }
  for (const RankModel *rank : shifted)
    table.notes.push_back(fmt::format("rank {} ran in a time namespace of its own: its CLOCK_MONOTONIC is {} off the node's (+- {}); {}",
                                      rank->rank, time_text(static_cast<double>(rank->record->info.monotonic_shift_ns())),
                                      time_text(static_cast<double>(rank->record->info.monotonic_shift_error_ns())),
                                      rank->stream->node.clock() == v1::Node::CLOCK_KIND_TSC ? "the TSC is not affected"
                                                                                               : "its times are corrected"));
  return table;
}

Table gap_table(const World &world, const ReportOptions &options) {
  Table table{"gaps", "LARGEST GAPS (of each rank: longest time outside of calls, longest call but for setup)",
              {{world.is_mpi ? "rank" : "process", "", ColumnKind::kCount}, {"outside", "s", ColumnKind::kSeconds},
               {"at", "s", ColumnKind::kSeconds}, {"between", "", ColumnKind::kText}, {"in a call", "s", ColumnKind::kSeconds},
               {"at", "s", ColumnKind::kSeconds}, {"call", "", ColumnKind::kText}}, {}, {}};
  std::vector<const RankModel *> order;
  for (const RankModel &rank : world.ranks)
    if (rank.gaps && rank.start_ns != 0) order.push_back(&rank);
  auto largest = [](const RankModel *rank) {
    GapView view = view_of(*rank);
    return std::max(view.outside_s, view.inside_s);
  };
  if (!options.full)
    std::stable_sort(order.begin(), order.end(), [&](const RankModel *a, const RankModel *b) { return largest(a) > largest(b); });
  constexpr size_t kShortRows = 8;
  for (const RankModel *rank : order) {
    if (!options.full && table.rows.size() == kShortRows) {
      table.notes.push_back(fmt::format("... {} more rows: --full", order.size() - kShortRows));
      break;
    }
    const Stream &stream = *rank->stream;
    GapView view = view_of(*rank);
    bool has_outside = rank->gaps->outside.ticks > 0, has_inside = rank->gaps->inside.ticks > 0;
    table.rows.push_back({static_cast<int64_t>(rank->rank), has_outside ? Cell{view.outside_s} : Cell{},
                          has_outside ? Cell{since_start(world, view.outside_ns)} : Cell{},
                          has_outside ? fmt::format("{}, {}", stream.call_name(rank->gaps->outside.after),
                                                    stream.call_name(rank->gaps->outside.before)) : "",
                          has_inside ? Cell{view.inside_s} : Cell{}, has_inside ? Cell{since_start(world, view.inside_ns)} : Cell{},
                          has_inside ? stream.call_name(rank->gaps->inside.call) : ""});
    if (!has_inside || !is_mpi(stream.call_class(rank->gaps->inside.call)) || view.inside_s * 10 < rank->wall_s) continue;
    if (const RankModel *other = idle_meanwhile(world, *rank, view.inside_ns, view.inside_s * 1e9))
      table.notes.push_back(fmt::format("rank {}'s longest call ({} s in {}): rank {} made no call for most of that time", rank->rank,
                                        seconds_text(view.inside_s), stream.call_name(rank->gaps->inside.call), other->rank));
  }
  return table;
}

nlohmann::ordered_json gaps_json(const World &world, const RankModel &rank) {
  if (!rank.gaps) return nullptr;
  GapView view = view_of(rank);
  const Stream &stream = *rank.stream;
  bool has_inside = rank.gaps->inside.ticks > 0;
  return {{"outside_s", number(view.outside_s)}, {"outside_at_s", number(since_start(world, view.outside_ns))},
          {"after", printable(stream.call_name(rank.gaps->outside.after))}, {"before", printable(stream.call_name(rank.gaps->outside.before))},
          {"in_call_s", number(view.inside_s)}, {"in_call_at_s", has_inside ? number(since_start(world, view.inside_ns)) : Json(nullptr)},
          {"call", has_inside ? Json(printable(stream.call_name(rank.gaps->inside.call))) : Json(nullptr)}};
}

void add_clocks_json(const World &world, Json *json) {
  Json &clocks = (*json)["clocks"] = Json::array();
  for (const ClockModel &clock : world.clocks) {
    bool is_wall = clock.method == ClockModel::Method::kWallClock;
    Json steps = Json::array();
    for (const ClockModel::Step &step : clock.steps)
      steps.push_back({{"at_s", number(since_start(world, step.at_ns))}, {"size_us", step.size_ns == 0 ? Json(nullptr) : number(step.size_ns * kUs)}});
    clocks.push_back({{"host", printable(clock.stream->host())}, {"source", printable(clock.stream->node.clock_source())},
                      {"ticks", ticks_name(clock.stream->node)}, {"method", method_name(clock.method)}, {"via", printable(clock.via)},
                      {"pairs", clock.pairs}, {"one_way", clock.is_one_way},
                      {"start_offset_us", is_wall ? Json(nullptr) : number(clock.start_offset_ns * kUs)},
                      {"start_error_us", number(clock.start_error_ns * kUs)},
                      {"end_offset_us", is_wall ? Json(nullptr) : number(clock.end_offset_ns * kUs)},
                      {"end_error_us", number(clock.end_error_ns * kUs)},
                      {"drift_ppm", is_wall ? Json(nullptr) : number(clock.drift_ppm)}, {"steps", steps}});
  }
  Json &pairs = (*json)["clock_pairs"] = Json::array();
  for (const ClockPairModel &pair : world.clock_pairs)
    pairs.push_back({{"a", printable(pair.a)}, {"b", printable(pair.b)}, {"a_to_b", pair.a_to_b}, {"b_to_a", pair.b_to_a},
                     {"least_a_to_b_us", number(pair.least_a_to_b_ns)}, {"least_b_to_a_us", number(pair.least_b_to_a_ns)},
                     {"error_us", number(pair.error_ns * kUs)}, {"excess_us", number(pair.excess_ns * kUs)}});
  Json &shifts = (*json)["time_namespaces"] = Json::array();
  for (const RankModel *rank : shifted_ranks(world))
    shifts.push_back({{"rank", rank->rank}, {"host", printable(rank->host)},
                      {"monotonic_shift_s", static_cast<double>(rank->record->info.monotonic_shift_ns()) * kSecond},
                      {"error_us", static_cast<double>(rank->record->info.monotonic_shift_error_ns()) * kUs}});
  if (!world.messages) {
    (*json)["messages"] = nullptr;
    return;
  }
  const MessageCounts &m = *world.messages;
  (*json)["messages"] = {{"matched", m.matched}, {"sends_left", m.sends_left}, {"receives_left", m.receives_left},
                         {"peer_not_recorded", m.peer_not_recorded}, {"other_world", m.other_world}, {"cancelled", m.cancelled},
                         {"size_differs", m.size_differs}};
}

std::string messages_text(const World &world) {
  if (!world.messages) return "";
  const MessageCounts &m = *world.messages;
  std::string text;
  auto add = [&](uint64_t count, const char *what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), what);
  };
  add(m.matched, "matched");
  add(m.sends_left, "sends without a receive");
  add(m.receives_left, "receives without a send");
  add(m.peer_not_recorded, "sides of messages with ranks that left no trace");
  add(m.other_world, "sides of messages with another MPI_COMM_WORLD");
  add(m.cancelled, "cancelled");
  add(m.size_differs, "of the matched with different sizes");
  return text;
}

std::string clock_error_text(const World &world) {
  double error = 0;
  bool is_compared = false;
  for (const ClockModel &clock : world.clocks) {
    is_compared = is_compared || clock.method == ClockModel::Method::kMessages || clock.method == ClockModel::Method::kMeasured;
    error = std::max({error, clock.start_error_ns, clock.end_error_ns});
  }
  if (std::isfinite(error)) return is_compared ? fmt::format("clock error <= {:.1f} us", error * kUs) : "";
  return is_compared ? "clocks of some nodes as they are set" : "clocks of the nodes as they are set";
}

}  // namespace slurmscope
