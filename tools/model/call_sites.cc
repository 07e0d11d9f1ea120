// See call_sites.h.
#include "tools/model/call_sites.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace slurmscope {
namespace {

using Place = Symbolizer::Place;

/// Places as small numbers: the ranks' many paths are compared by them.
class Places {
 public:
  explicit Places(Symbolizer *symbolizer) : symbolizer_(symbolizer) {}
  const Place &operator[](uint32_t number) const { return *places_[number]; }

  /// The numbers of a path, without what lies in the MPI library in front of the program.
  std::vector<uint32_t> path_of(const ProcessRecord &process, const CallPathRecord &path) {
    if (process_ != &process) by_address_.clear();
    process_ = &process;
    std::vector<uint32_t> numbers;
    for (uint64_t address : path.addresses) {
      auto [entry, is_new] = by_address_.try_emplace(address);
      if (is_new) entry->second = number_of(symbolizer_->resolve(process, address, true));
      if (numbers.empty() && is_mpi_library((*this)[entry->second].module)) continue;
      numbers.push_back(entry->second);
    }
    return numbers;
  }

 private:
  uint32_t number_of(const Place &place) {
    // Two calls in one line are one place; without lines each address is one.
    bool has_line = !place.file.empty() && place.line > 0;
    auto key = std::tuple(place.module, place.function, place.file, place.line, has_line ? 0 : place.offset);
    auto [entry, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(&place);
    return entry->second;
  }

  Symbolizer *symbolizer_;
  const ProcessRecord *process_ = nullptr;
  std::unordered_map<uint64_t, uint32_t> by_address_;  // of that process
  std::map<std::tuple<std::string, std::string, std::string, int, uint64_t>, uint32_t> numbers_;
  std::vector<const Place *> places_;
};

struct Sum {
  uint64_t count = 0, bytes = 0;
  double seconds = 0;
};
using SiteKey = std::tuple<std::string, std::vector<uint32_t>, bool>;  // call, path, truncated

}  // namespace

CallSites call_sites(const World &world) {
  CallSites result;
  Symbolizer symbolizer;
  Places places(&symbolizer);
  std::map<SiteKey, Sum> sums;
  for (const RankModel &rank : world.ranks) {
    const Stream &stream = *rank.stream;
    if (!stream.clock.usable()) continue;
    std::map<std::pair<uint32_t, uint32_t>, std::pair<Sum, uint64_t>> own;  // by call and site: counts, ticks
    for (const auto &[key, stats] : rank.record->summary->calls) {
      if (!is_mpi(stream.call_class(key.call))) continue;
      auto &[sum, ticks] = own[{key.call, key.site}];
      sum.count += stats.count;
      sum.bytes += stats.bytes;
      ticks += stats.ticks;
    }
    for (auto &[key, value] : own) {
      auto &[sum, ticks] = value;
      auto path = rank.record->call_paths.find(key.second);
      bool is_known = path != rank.record->call_paths.end();
      Sum &all = sums[{stream.call_name(key.first), is_known ? places.path_of(*rank.record, path->second) : std::vector<uint32_t>{},
                       is_known && path->second.is_truncated}];
      sum.seconds = stream.clock.seconds(static_cast<double>(ticks));
      all.count += sum.count;
      all.bytes += sum.bytes;
      all.seconds += sum.seconds;
      result.mpi_seconds += sum.seconds;
    }
  }
  for (const auto &[key, sum] : sums) {
    const auto &[call, path, is_truncated] = key;
    CallSiteTotals site{call, {}, is_truncated, sum.count, sum.bytes, sum.seconds};
    for (uint32_t number : path) site.path.push_back(places[number]);
    result.sites.push_back(std::move(site));
  }
  std::stable_sort(result.sites.begin(), result.sites.end(),
                   [](const CallSiteTotals &a, const CallSiteTotals &b) { return a.seconds > b.seconds; });
  result.complaints.assign(symbolizer.complaints().begin(), symbolizer.complaints().end());
  return result;
}

}  // namespace slurmscope
