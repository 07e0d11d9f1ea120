// See run_facts.h.
#include "tools/compare/run_facts.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "proto/settings.h"
#include "tools/model/category.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

std::string base_name(const std::string &path) { return std::filesystem::path(path).filename().string(); }

/// The libraries whose difference would be mistaken for the platform's.
bool decides_comparability(const std::string &name) {
  for (const char *part : {"libmpi", "libc.so", "libm.so", "blas", "libmkl"})
    if (name.rfind(part, 0) == 0 || (std::string(part) == "blas" && name.find(part) != std::string::npos)) return true;
  return false;
}

/// Waits, tests and probes happen as often as timing wants, queries only if asked for; they are no work.
bool is_work(v1::CallClass c) {
  return c != v1::CLASS_WAIT && c != v1::CLASS_TEST && c != v1::CLASS_PROBE && c != v1::CLASS_LOCAL &&
         c != v1::CLASS_QUERY && c != v1::CLASS_UNKNOWN;
}

void add_work(const World &world, RunFacts *facts) {
  struct Sum { uint64_t count = 0, bytes = 0; v1::CallClass call_class = v1::CLASS_UNKNOWN; };
  std::map<std::string, Sum> sums;
  for (const RankModel &rank : world.ranks)
    for (const CallTotals &call : rank.calls) {
      Sum &sum = sums[call.name];
      sum.count += call.count;
      sum.bytes += call.bytes;
      sum.call_class = call.call_class;
    }
  double ranks = static_cast<double>(world.ranks.size());
  for (const auto &[name, sum] : sums) {
    if (!is_work(sum.call_class)) continue;
    bool is_libc = sum.call_class >= v1::CLASS_OPEN && !is_mpi_io(sum.call_class);
    // A few start-up reads or log lines more or less are no different work.
    if (is_libc && sum.count < 100 && sum.bytes < (1u << 20)) continue;
    if (is_libc && sum.call_class >= v1::CLASS_SOCKET_CONNECT) continue;
    facts->work[name] = static_cast<double>(sum.count) / ranks;
    if (sum.bytes > 0) facts->work[name + " bytes"] = static_cast<double>(sum.bytes) / ranks;
  }
}

std::string describe_end(const World &world) {
  std::string text;
  size_t more = 0;
  auto add = [&](const std::string &what) {
    if (text.empty()) text = what;
    else ++more;
  };
  for (const RankModel &rank : world.ranks) {
    if (rank.wait_status && *rank.wait_status != 0) {
      int code = WIFSIGNALED(*rank.wait_status) ? 128 + WTERMSIG(*rank.wait_status) : WEXITSTATUS(*rank.wait_status);
      add(fmt::format("exited {} on rank {}", code, rank.rank));
    } else if (ended_badly(rank)) {
      add(fmt::format("ended without MPI_Finalize on rank {}", rank.rank));
    }
  }
  for (const TaskEnd &task : world.tasks)
    if (task.wait_status != 0) add(fmt::format("task {}: {}", task.task, wait_status_text(task.wait_status)));
  if (more > 0) text += fmt::format(" (and {} more)", more);
  if (!world.complete())
    text += fmt::format("{}{} of {} rank files missing", text.empty() ? "" : "; ", world.size - static_cast<int>(world.ranks.size()),
                        world.size);
  for (const LossModel &loss : world.losses)
    if (loss.reason == "damaged file" || loss.reason == "unreadable file" || loss.reason == "no end")
      text += fmt::format("{}{}", text.empty() ? "" : "; ", loss.detail);
  return text;
}

std::string recording_of(const v1::Header &header) {
  auto settings = std::make_unique<Settings>();
  char ignored[256];
  parse_settings(header.settings().c_str(), settings.get(), ignored, sizeof ignored);
  std::string text = header.mode() == v1::Header::MODE_TRACE ? "trace" : "summary";
  if (settings->sample > 0) text += fmt::format(",sample={}", settings->sample);
  if (settings->counters[0] != 0) text += fmt::format(",counters={}", settings->counters);
  return text;
}

void add_config(const World &world, RunFacts *facts) {
  // Several nodes: only what they agree on describes the run.
  std::map<std::string, std::set<std::string>> values;
  for (const Stream *stream : world.streams) {
    const v1::Node &node = stream->node;
    const v1::Virtualization &v = node.virtualization();
    auto add = [&](const char *key, const std::string &value) {
      if (!value.empty()) values[key].insert(value);
    };
    add("virtualization", v.vm());
    add("container", v.container());
    add("steal", v.steal());
    add("cpu_model", node.cpu_model());
    add("kernel", node.kernel());
    add("os", node.os());
    add("clock_source", node.clock_source());
    if (node.cpus_online()) add("cpus", fmt::format("{}", node.cpus_online()));
    if (node.sockets()) add("sockets", fmt::format("{}", node.sockets()));
    if (node.numa_nodes()) add("numa_nodes", fmt::format("{}", node.numa_nodes()));
    if (node.threads_per_core()) add("threads_per_core", fmt::format("{}", node.threads_per_core()));
    for (const v1::Fact &fact : node.facts()) add(fact.name().c_str(), fact.value());
  }
  for (const auto &[key, set] : values) {
    std::string text;
    for (const std::string &value : set) text += (text.empty() ? "" : " | ") + value;
    facts->config[key] = text;
  }
}

}  // namespace

RunFacts extract_facts(const RunModel &run) {
  const World &world = run.chosen();
  const v1::Process &info = world.ranks.front().record->info;
  const Stream &stream = *world.ranks.front().stream;
  RunFacts facts;
  facts.path = run.path;
  facts.id = world.run.job().empty() ? base_name(std::filesystem::path(run.path).lexically_normal().string()) : world.run.job();
  if (facts.id.empty()) facts.id = run.path;
  facts.wall_s = world.wall_s;
  facts.start_ns = world.start_ns;
  facts.ranks = world.size;
  facts.nodes = static_cast<int>(world.hosts.size());
  facts.hosts = world.hosts;
  facts.app = base_name(info.exe());
  facts.build_id = info.build_id();
  facts.exe_hash = info.exe_sha256();
  facts.partition = world.run.partition();
  facts.vm = stream.node.virtualization().vm();
  facts.mpi_library = world.mpi_library();
  for (int i = 1; i < info.arguments_size(); ++i) facts.arguments.push_back(info.arguments(i));
  for (const RankModel &rank : world.ranks) {
    for (const v1::Module &module : rank.record->modules) {
      std::string name = base_name(module.path());
      if (!module.build_id().empty() && decides_comparability(name)) facts.objects[name] = module.build_id();
    }
    for (size_t i = 0; i < kCategoryCount; ++i)
      facts.categories[i] += rank.categories[i] / static_cast<double>(world.ranks.size());
  }
  add_work(world, &facts);
  add_config(world, &facts);
  facts.bad_end = describe_end(world);
  facts.calls = world.events;
  for (const LossModel &loss : world.losses)
    if (loss.loses_events) facts.lost += loss.count;
  facts.format_major = stream.header.format_major();
  facts.recording = recording_of(stream.header);

  std::string input, threads = "1";
  for (const std::string &argument : facts.arguments) input += (input.empty() ? "" : " ") + argument;
  for (const std::string &variable : info.environment())
    if (variable.rfind("OMP_NUM_THREADS=", 0) == 0) threads = variable.substr(16);
  std::map<std::string, int> per_node;
  int ppn = 0;
  for (const RankModel &rank : world.ranks) ppn = std::max(ppn, ++per_node[rank.host]);
  auto set = [&](const char *key, const std::string &value) { facts.keys[key] = {value}; };
  set("app", facts.app);
  set("exe", info.exe());
  set("input", input);
  set("nodes", fmt::format("{}", facts.nodes));
  set("ranks", fmt::format("{}", facts.ranks));
  set("ppn", fmt::format("{}", ppn));
  set("threads", threads);
  set("partition", facts.partition);
  set("virt", facts.vm);
  set("hypervisor", facts.vm);
  set("image", facts.config.count("image") ? facts.config["image"] : stream.node.os());
  set("date", utc_text(facts.start_ns).substr(0, 10));
  set("job", world.run.job());
  facts.keys["host"] = facts.hosts;
  for (const std::string &label : world.run.labels()) {
    size_t equals = label.find('=');
    if (equals == std::string::npos) facts.keys["tag." + label] = {""};
    else facts.keys["tag." + label.substr(0, equals)] = {label.substr(equals + 1)};
  }
  return facts;
}

}  // namespace slurmscope
