// See node_facts.h. To add a fact that is one line of one file: a line in kFacts.
#include "profiler/drain/node_facts.h"

#include <unistd.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "profiler/drain/utf8_text.h"
#include "profiler/drain/virtualization.h"

namespace slurmscope {
namespace {

struct FactFile {
  const char *name, *path;
};
constexpr FactFile kFacts[] = {
    {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
    {"cpufreq driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"},
    {"no turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
    {"cpuidle driver", "/sys/devices/system/cpu/cpuidle/current_driver"},
    {"smt", "/sys/devices/system/cpu/smt/control"},
    {"transparent hugepages", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"hugepage defrag", "/sys/kernel/mm/transparent_hugepage/defrag"},
    {"reserved hugepages", "/proc/sys/vm/nr_hugepages"},
    {"numa balancing", "/proc/sys/kernel/numa_balancing"},
    {"zone reclaim", "/proc/sys/vm/zone_reclaim_mode"},
    {"clocksources", "/sys/devices/system/clocksource/clocksource0/available_clocksource"},
    {"kernel command line", "/proc/cmdline"},
    {"tuned profile", "/etc/tuned/active_profile"},
    {"cpu quota", "/sys/fs/cgroup/cpu.max"},
    {"system vendor", "/sys/class/dmi/id/sys_vendor"},
    {"system product", "/sys/class/dmi/id/product_name"},
    {"bios version", "/sys/class/dmi/id/bios_version"},
};

void add_fact(v1::Node *node, const std::string &name, const std::string &value, const std::string &source) {
  v1::Fact *fact = node->add_facts();
  fact->set_name(name);
  fact->set_value(value);
  fact->set_source(source);
}

// How many cpus a list like "0-3,8" names.
uint32_t count_in_list(const std::string &list) {
  uint32_t count = 0;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    char *end = nullptr;
    unsigned long first = std::strtoul(part.c_str(), &end, 10), last = first;
    if (end == part.c_str()) continue;
    if (*end == '-') last = std::strtoul(end + 1, nullptr, 10);
    if (last >= first && last - first < 1 << 20) count += static_cast<uint32_t>(last - first + 1);
  }
  return count;
}

// Value of "key : value" or KEY="value" in a text.
std::string value_of(const std::string &text, const std::string &key, char separator) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    size_t at = line.find(separator);
    if (at == std::string::npos || line.find_first_not_of(" \t", key.size()) != at) continue;
    size_t start = line.find_first_not_of(" \t\"", at + 1), end = line.find_last_not_of(" \t\"");
    return start == std::string::npos || end < start ? "" : line.substr(start, end - start + 1);
  }
  return "";
}

void add_processors(const Probe &probe, v1::Node *node) {
  const std::string base = "/sys/devices/system/cpu/";
  if (auto online = probe.line(base + "online")) node->set_cpus_online(count_in_list(*online));
  std::set<std::string> packages;
  for (const std::string &name : probe.names(base)) {
    if (!name.starts_with("cpu") || name.size() < 4 || name[3] < '0' || name[3] > '9') continue;
    if (auto package = probe.line(base + name + "/topology/physical_package_id")) packages.insert(*package);
  }
  node->set_sockets(static_cast<uint32_t>(packages.size()));
  if (auto siblings = probe.line(base + "cpu0/topology/thread_siblings_list"))
    node->set_threads_per_core(count_in_list(*siblings));
  uint32_t nodes = 0;
  for (const std::string &name : probe.names("/sys/devices/system/node"))
    nodes += name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9';
  node->set_numa_nodes(nodes);
  if (auto info = probe.text("/proc/cpuinfo")) {
    node->set_cpu_model(value_of(*info, "model name", ':'));
    if (std::string microcode = value_of(*info, "microcode", ':'); !microcode.empty())
      add_fact(node, "microcode", microcode, "/proc/cpuinfo");
  }
  for (const std::string &name : probe.names(base + "vulnerabilities"))
    if (auto state = probe.line(base + "vulnerabilities/" + name))
      add_fact(node, "vulnerability " + name, *state, base + "vulnerabilities/" + name);
}

void add_network(const Probe &probe, v1::Node *node) {
  for (const std::string &name : probe.names("/sys/class/net")) {
    std::string device = "/sys/class/net/" + name;
    if (!probe.exists(device + "/device")) continue;  // no hardware: loopback, bridges, tunnels
    // A virtio interface hangs below the PCI device that carries it; both have a driver.
    std::string value = probe.link_name(device + "/device/driver").value_or("unknown driver");
    auto vendor = probe.line(device + "/device/vendor"), id = probe.line(device + "/device/device");
    if (vendor && id) value += " " + *vendor + ":" + *id;
    if (probe.exists(device + "/device/physfn")) value += " virtual function";
    if (auto speed = probe.line(device + "/speed"); speed && !speed->empty() && (*speed)[0] != '-') value += " " + *speed + " Mbit/s";
    if (auto mtu = probe.line(device + "/mtu")) value += " mtu " + *mtu;
    add_fact(node, "nic " + name, value, device);
  }
  for (const std::string &name : probe.names("/sys/class/infiniband")) {
    std::string device = "/sys/class/infiniband/" + name;
    std::string value = probe.link_name(device + "/device/driver").value_or("unknown driver");
    if (probe.exists(device + "/device/physfn")) value += " virtual function";
    add_fact(node, "rdma " + name, value, device);
  }
}

}  // namespace

v1::Node probe_node(const Probe &probe) {
  v1::Node node;
  char name[256] = "";
  if (probe.root().empty()) gethostname(name, sizeof name - 1);
  node.set_host(probe.root().empty() ? utf8_text(name) : probe.line("/proc/sys/kernel/hostname").value_or(""));
  node.set_kernel(probe.line("/proc/sys/kernel/osrelease").value_or(""));
  if (auto release = probe.text("/etc/os-release")) node.set_os(value_of(*release, "PRETTY_NAME", '='));
  if (auto memory = probe.text("/proc/meminfo"))
    node.set_memory_bytes(std::strtoull(value_of(*memory, "MemTotal", ':').c_str(), nullptr, 10) * 1024);
  node.set_clock_source(probe.line("/sys/devices/system/clocksource/clocksource0/current_clocksource").value_or(""));
  add_processors(probe, &node);
  *node.mutable_virtualization() = detect_virtualization(probe);
  for (const FactFile &fact : kFacts)
    if (auto value = probe.line(fact.path)) add_fact(&node, fact.name, *value, fact.path);
  add_network(probe, &node);
  return node;
}

}  // namespace slurmscope
