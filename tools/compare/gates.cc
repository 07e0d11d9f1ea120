// Whether two groups of runs may be compared at all; messages are part of the interface.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/compare/comparison.h"
#include "tools/export/exporters.h"

namespace slurmscope {
namespace {

constexpr size_t kMinimumRuns = 3, kRunsForInterval = 4;
constexpr double kWorkWarn = 0.01, kWorkRefuse = 0.05, kLostShare = 0.01;
constexpr int64_t kSixHoursNs = 6LL * 3600 * 1000000000;
constexpr double kOutlierZ = 14.8;

class Gates {
 public:
  Gates(const RunGroup &base, const RunGroup &cand, const CompareOptions &options) : base_(base), cand_(cand), options_(options) {}

  std::vector<Gate> run(double *work_difference) {
    check_runs();
    if (base_.runs.empty() || cand_.runs.empty()) return std::move(gates_);  // nothing else can be said
    check_walls();
    check_sizes();
    check_binary();
    check_libraries();
    check_input();
    check_work(work_difference);
    check_ends();
    check_losses();
    check_tool();
    warn_labels();
    warn_time();
    warn_nodes();
    warn_outliers("base", base_);
    warn_outliers("cand", cand_);
    return std::move(gates_);
  }

 private:
  void refuse(const char *code, const std::string &text) {
    bool forced = options_.forced.count(std::string(code).substr(2)) != 0;
    gates_.push_back({code, Severity::kRefuse, forced, "refused: " + text});
  }
  void warn(const char *code, const std::string &text) { gates_.push_back({code, Severity::kWarn, false, text}); }

  /// First pair of runs, over both groups, that differ in `value`; false if none do.
  template <typename Value>
  bool differs(Value value, const RunFacts **a, const RunFacts **b) const {
    *a = &base_.runs.front();
    for (const RunGroup *group : {&cand_, &base_})
      for (const RunFacts &run : group->runs)
        if (value(run) != value(**a)) {
          *b = &run;
          return true;
        }
    return false;
  }

  void check_runs() {
    for (auto [name, group] : {std::pair("base", &base_), std::pair("cand", &cand_)}) {
      size_t n = group->runs.size();
      if (n >= kMinimumRuns) continue;
      // No run at all cannot be forced: there is nothing to compare.
      refuse("E-NRUNS", fmt::format("{} has n={} runs (need >=3 for any interval, >=4 for a 95% one; benchstat-style tests cannot "
                                    "reach p<0.05 at 3+3: min p = 0.10). Run {} more, or use 'report' to look at single runs.",
                                    name, n, kRunsForInterval - n));
      if (n == 0) gates_.back().forced = false;
    }
  }

  void check_walls() {
    for (const RunGroup *group : {&base_, &cand_})
      for (const RunFacts &run : group->runs)
        if (!(run.wall_s > 0)) {
          refuse("E-WALL", fmt::format("{} has no wall time (its clock is not known); leave it out.", printable(run.id)));
          gates_.back().forced = false;
        }
  }

  void check_sizes() {
    const RunFacts *a, *b;
    for (auto [name, group] : {std::pair("base", &base_), std::pair("cand", &cand_)}) {
      auto [least, most] = std::minmax_element(group->runs.begin(), group->runs.end(),
                                               [](const RunFacts &x, const RunFacts &y) { return x.ranks < y.ranks; });
      if (options_.match_nodes && least->ranks != most->ranks)
        refuse("E-RANKS", fmt::format("{} holds runs of {} and of {} ranks; --match nodes compares two groups, each of one size.", name,
                                      least->ranks, most->ranks));
    }
    if (!options_.match_nodes && differs([](const RunFacts &r) { return r.ranks; }, &a, &b)) {
      int fewer = std::min(a->ranks, b->ranks), more = std::max(a->ranks, b->ranks);
      refuse("E-RANKS", fmt::format("{} vs {} ranks; per-rank attribution would mix fewer cores with virtualization overhead. Re-run "
                                    "with equal ranks (mpirun -n {} on both), or use --match nodes to compare node-for-node; the "
                                    "lost-core effect is then shown separately (+{:.1f}% expected).",
                                    a->ranks, b->ranks, fewer, 100.0 * (static_cast<double>(more) / fewer - 1)));
    }
    if (differs([](const RunFacts &r) { return r.nodes; }, &a, &b))
      refuse("E-NODES", fmt::format("{} vs {} nodes; compare runs on equally many nodes.", a->nodes, b->nodes));
  }

  void check_binary() {
    const RunFacts *a, *b;
    const char *text = "Differences would include the compiler. Override: --force BIN (attribution is then labelled \"binary+platform\").";
    if (differs([](const RunFacts &r) { return r.app; }, &a, &b))
      refuse("E-BIN", fmt::format("different program ({} vs {}). {}", printable(a->app), printable(b->app), text));
    else if (differs([](const RunFacts &r) { return r.build_id; }, &a, &b))
      refuse("E-BIN", fmt::format("different binary (build-id {} vs {}). {}", shortened(a->build_id), shortened(b->build_id), text));
    else if (differs([](const RunFacts &r) { return r.exe_hash; }, &a, &b))
      refuse("E-BIN", fmt::format("different binary (sha256 {} vs {}). {}", shortened(a->exe_hash), shortened(b->exe_hash), text));
  }

  static std::string shortened(const std::string &id) {
    return id.empty() ? "unknown" : id.size() > 8 ? printable(id.substr(0, 8)) + "…" : printable(id);
  }

  void check_libraries() {
    const RunFacts *a, *b;
    const char *text = "--force DSO keeps totals, drops p2p/collective attribution to the platform.";
    if (differs([](const RunFacts &r) { return r.mpi_library; }, &a, &b)) {
      auto name = [](const RunFacts &r) { return r.mpi_library.empty() ? std::string("none") : cut_middle(printable(r.mpi_library.substr(0, r.mpi_library.find('\n'))), 60); };
      refuse("E-DSO", fmt::format("MPI library differs ({} vs {}). {}", name(*a), name(*b), text));
      return;
    }
    for (const auto &[object, id] : base_.runs.front().objects) {
      auto id_of = [&, object = object](const RunFacts &r) {
        auto found = r.objects.find(object);
        return found == r.objects.end() ? base_.runs.front().objects.at(object) : found->second;  // not recorded is no difference
      };
      if (!differs(id_of, &a, &b)) continue;
      refuse("E-DSO", fmt::format("{} differs (build-id {} vs {}). {}", printable(object), shortened(id_of(*a)), shortened(id_of(*b)), text));
      return;
    }
  }

  void check_input() {
    const RunFacts *a, *b;
    if (!differs([](const RunFacts &r) { return r.arguments; }, &a, &b)) return;
    std::string what = fmt::format("{} vs {} arguments", a->arguments.size(), b->arguments.size());
    for (size_t i = 0; i < std::min(a->arguments.size(), b->arguments.size()); ++i)
      if (a->arguments[i] != b->arguments[i]) {
        what = fmt::format("argv[{}] '{}' vs '{}'", i + 1, cut_middle(printable(a->arguments[i]), 60), cut_middle(printable(b->arguments[i]), 60));
        break;
      }
    refuse("E-INPUT", fmt::format("different input ({}).", what));
  }

  static std::string comma_grouped(double value) {
    std::string text = grouped(static_cast<uint64_t>(std::llround(value)));
    std::replace(text.begin(), text.end(), ' ', ',');
    return text;
  }

  void check_work(double *largest) {
    std::string worst;
    double worst_a = 0, worst_b = 0;
    *largest = 0;
    auto consider = [&](const std::string &name, double a, double b) {
      double difference = a > 0 && b > 0 ? std::fabs(std::log(b / a)) : a == b ? 0 : INFINITY;
      if (difference <= *largest) return;
      *largest = difference;
      worst = name;
      worst_a = a;
      worst_b = b;
    };
    std::set<std::string> names;
    for (const RunGroup *group : {&base_, &cand_})
      for (const RunFacts &run : group->runs)
        for (const auto &[name, value] : run.work) names.insert(name);
    for (const std::string &name : names) {
      std::vector<double> means;
      for (const RunGroup *group : {&base_, &cand_}) {
        std::vector<double> values;
        for (const RunFacts &run : group->runs) {
          auto found = run.work.find(name);
          values.push_back(found == run.work.end() ? 0 : found->second);
        }
        means.push_back(mean(values));
        auto [low, high] = std::minmax_element(values.begin(), values.end());
        consider(name, *low, *high);
      }
      consider(name, means[0], means[1]);
    }
    if (*largest <= kWorkWarn) return;
    std::string change = worst_a > 0 ? fmt::format("{:+.1f}%", 100 * (worst_b / worst_a - 1)) : "new";
    std::string text = fmt::format("different work: {}/rank {} vs {} ({}).", printable(worst), comma_grouped(worst_a),
                                   comma_grouped(worst_b), change);
    if (*largest > kWorkRefuse) refuse("E-WORK", text);
    else warn("W-WORK", text);
  }

  void check_ends() {
    for (const RunGroup *group : {&base_, &cand_})
      for (const RunFacts &run : group->runs)
        if (!run.bad_end.empty()) {
          refuse("E-EXIT", fmt::format("run {} {}.", printable(run.id), printable(run.bad_end)));
          return;
        }
  }

  void check_losses() {
    for (const RunGroup *group : {&base_, &cand_})
      for (const RunFacts &run : group->runs) {
        double share = run.lost == 0 ? 0 : static_cast<double>(run.lost) / static_cast<double>(run.lost + run.calls);
        if (share <= kLostShare) continue;
        gates_.push_back({"E-DROP", Severity::kDegrade, false,
                          fmt::format("attribution refused: {:.1f}% events dropped in run {}; wall time is complete and shown.",
                                      100 * share, printable(run.id))});
        return;
      }
  }

  void check_tool() {
    const RunFacts *a, *b;
    if (differs([](const RunFacts &r) { return r.format_major; }, &a, &b))
      refuse("E-TOOL", fmt::format("trace formats {} vs {}.", a->format_major, b->format_major));
    else if (differs([](const RunFacts &r) { return r.recording; }, &a, &b))
      refuse("E-TOOL", fmt::format("recorded as '{}' vs '{}': the tool's own cost differs.", printable(a->recording), printable(b->recording)));
  }

  void warn_labels() {
    std::set<std::string> said;
    for (const RunGroup *group : {&base_, &cand_})
      for (const RunFacts &run : group->runs) {
        std::string label = run.partition;
        std::transform(label.begin(), label.end(), label.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        bool says_metal = label.find("metal") != std::string::npos || label == "bm";
        bool says_virtual = label.find("virt") != std::string::npos || label == "vm";
        bool is_virtual = !run.vm.empty() && run.vm != "none";
        if (((says_metal && is_virtual) || (says_virtual && run.vm == "none")) && said.insert(run.partition).second)
          warn("W-LABEL", fmt::format("partition '{}' says {}, its nodes say {}.", printable(run.partition),
                                      says_metal ? "bare metal" : "virtual", run.vm == "none" ? "bare metal" : printable(run.vm)));
      }
  }

  void warn_time() {
    auto [base_first, base_last] = std::pair(base_.runs.front().start_ns, base_.runs.back().start_ns);
    auto [cand_first, cand_last] = std::pair(cand_.runs.front().start_ns, cand_.runs.back().start_ns);
    if (base_first == 0 || cand_first == 0) return;
    if (cand_first - base_last > kSixHoursNs || base_first - cand_last > kSixHoursNs)
      warn("W-TIME", "time confounded: interleave A B A B.");
  }

  void warn_nodes() {
    auto same = [](const RunGroup &group) {
      return std::all_of(group.runs.begin(), group.runs.end(), [&](const RunFacts &r) { return r.hosts == group.runs.front().hosts; });
    };
    if (same(base_) && same(cand_)) warn("W-NODESET", "one node set per side: inference limited to these nodes.");
  }

  void warn_outliers(const char *name, const RunGroup &group) {
    std::vector<double> walls = group.walls();
    double centre = median(walls), mad = scaled_mad(walls);
    if (walls.size() < kMinimumRuns || !(mad > 0)) return;
    for (size_t i = 0; i < walls.size(); ++i)
      if (std::fabs(walls[i] - centre) / mad > kOutlierZ)
        warn("W-OUTLIER", fmt::format("{} run {}: {} s is far from the median {} s; kept.", name, printable(group.runs[i].id),
                                      seconds_text(walls[i]), seconds_text(centre)));
    std::vector<double> rest(walls.begin() + 1, walls.end());
    double slowest = *std::max_element(rest.begin(), rest.end());
    if (walls.size() > kMinimumRuns && walls[0] - slowest > 3 * scaled_mad(rest))
      warn("W-FIRST", fmt::format("{}: the first run ({} s) is slower than all others; kept (median without it {} s).", name,
                                  seconds_text(walls[0]), seconds_text(median(rest))));
  }

  const RunGroup &base_, &cand_;
  const CompareOptions &options_;
  std::vector<Gate> gates_;
};

}  // namespace

std::vector<Gate> check_gates(const RunGroup &base, const RunGroup &cand, const CompareOptions &options, double *work_difference) {
  return Gates(base, cand, options).run(work_difference);
}

}  // namespace slurmscope
