// Machines that are not at hand, as trees of files and a CPUID.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "profiler/drain/clock_reader.h"
#include "profiler/drain/modules.h"
#include "profiler/drain/node_facts.h"
#include "profiler/drain/utf8_text.h"
#include "profiler/drain/virtualization.h"
#include "tests/unit/ring_maker.h"

namespace slurmscope::test {
namespace {

struct Machine {
  const char *name;
  std::map<std::string, std::string> files;
  const char *signature;  // NULL: no hypervisor bit
  uint32_t features;      // leaf 0x40000001, eax
  const char *vm, *container, *confidence, *steal;
};

const Machine kMachines[] = {
    {"bare metal", {{"/sys/class/dmi/id/sys_vendor", "Dell Inc."}, {"/sys/class/dmi/id/product_name", "PowerEdge R650"}}, nullptr, 0,
     "none", "none", "high", "not observable"},
    {"bare metal without DMI", {}, nullptr, 0, "none", "none", "medium", "not observable"},
    {"KVM", {{"/sys/class/dmi/id/sys_vendor", "QEMU"}}, "KVMKVMKVM", 1u << 5, "kvm", "none", "high", "observable"},
    {"KVM without steal clock, in docker", {{"/.dockerenv", ""}}, "KVMKVMKVM", 0, "kvm", "docker", "high", "not observable"},
    {"KVM with Hyper-V enlightenments", {{"/sys/class/dmi/id/product_name", "KVM"}}, "Microsoft Hv", 0, "kvm", "none", "high", "unknown"},
    {"QEMU TCG", {{"/sys/class/dmi/id/sys_vendor", "QEMU"}}, "TCGTCGTCGTCG", 0, "qemu", "none", "high", "not observable"},
    {"VMware", {{"/sys/class/dmi/id/sys_vendor", "VMware, Inc."}}, "VMwareVMware", 0, "vmware", "none", "high", "unknown"},
    {"Hyper-V", {{"/sys/class/dmi/id/sys_vendor", "Microsoft Corporation"}, {"/sys/class/dmi/id/product_name", "Virtual Machine"}},
     "Microsoft Hv", 0, "microsoft", "none", "high", "not observable"},
    {"Xen guest", {{"/proc/xen/capabilities", ""}}, "XenVMMXenVMM", 0, "xen", "none", "high", "observable"},
    {"Xen control domain", {{"/proc/xen/capabilities", "control_d\n"}, {"/sys/class/dmi/id/sys_vendor", "HP"}}, "XenVMMXenVMM", 0,
     "none", "none", "high", "not observable"},
    {"EC2 Nitro", {{"/sys/class/dmi/id/sys_vendor", "Amazon EC2"}, {"/sys/class/dmi/id/product_name", "c5.large"}}, "KVMKVMKVM",
     1u << 5, "amazon", "none", "high", "observable"},
    {"EC2 metal", {{"/sys/class/dmi/id/sys_vendor", "Amazon EC2"}, {"/sys/class/dmi/id/product_name", "c5.metal"}}, nullptr, 0,
     "none", "none", "high", "not observable"},
    {"KVM under another name", {{"/sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc\n"}},
     "bhyve bhyve ", 0, "kvm", "none", "medium", "unknown"},
    {"unknown hypervisor", {}, "Strange Hv12", 0, "other", "none", "medium", "unknown"},
};

void make_file(const std::string &root, const std::string &path, const std::string &text) {
  std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
  std::ofstream(root + path) << text;
}

Probe::Cpuid cpuid_of(const char *signature, uint32_t features) {
  std::string text = signature != nullptr ? signature : "";
  return [text, features, has = signature != nullptr](uint32_t leaf) {
    std::array<uint32_t, 4> registers{};
    if (leaf == 1) registers[2] = has ? 1u << 31 : 0;
    if (leaf == 0x40000000) std::memcpy(&registers[1], text.data(), std::min<size_t>(12, text.size()));
    if (leaf == 0x40000001) registers[0] = features;
    return registers;
  };
}

TEST(Virtualization, KnowsTheMachines) {
  for (const Machine &machine : kMachines) {
    TemporaryDirectory root;
    for (const auto &[path, text] : machine.files) make_file(root.path(), path, text);
    v1::Virtualization found = detect_virtualization(Probe(root.path(), cpuid_of(machine.signature, machine.features)));
    EXPECT_EQ(found.vm(), machine.vm) << machine.name;
    EXPECT_EQ(found.container(), machine.container) << machine.name;
    EXPECT_EQ(found.confidence(), machine.confidence) << machine.name;
    EXPECT_EQ(found.steal(), machine.steal) << machine.name;
    EXPECT_GT(found.evidence_size(), 0) << machine.name;
  }
}

TEST(NodeFacts, ReadsATree) {
  TemporaryDirectory root;
  const std::pair<const char *, const char *> files[] = {
      {"/proc/sys/kernel/hostname", "node7\n"},
      {"/proc/sys/kernel/osrelease", "6.1.0\n"},
      {"/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"},
      {"/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n"},
      {"/proc/cpuinfo", "processor : 0\nmodel name\t: Test CPU 3000\nflags\t\t: fpu constant_tsc nonstop_tsc\n"},
      {"/sys/devices/system/cpu/online", "0-3,8\n"},
      {"/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"},
      {"/sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n"},
      {"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n"},
      {"/sys/devices/system/node/node0/cpulist", "0"},
      {"/sys/devices/system/node/node1/cpulist", "1"},
      {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"},
      {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
      {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n"},
      {"/sys/class/net/eth0/device/vendor", "0x1af4\n"},
      {"/sys/class/net/eth0/device/device", "0x1041\n"},
      {"/sys/class/net/eth0/mtu", "1500\n"},
      {"/sys/class/net/lo/mtu", "65536\n"},
  };
  for (auto [path, text] : files) make_file(root.path(), path, text);
  std::filesystem::create_symlink("../../bus/virtio/drivers/virtio_net", root.path() + "/sys/class/net/eth0/device/driver");
  v1::Node node = probe_node(Probe(root.path(), cpuid_of(nullptr, 0)));
  EXPECT_EQ(node.host(), "node7");
  EXPECT_EQ(node.kernel(), "6.1.0");
  EXPECT_EQ(node.os(), "Debian GNU/Linux 12");
  EXPECT_EQ(node.memory_bytes(), 16384u * 1024);
  EXPECT_EQ(node.cpu_model(), "Test CPU 3000");
  EXPECT_EQ(node.cpus_online(), 5u);
  EXPECT_EQ(node.sockets(), 2u);
  EXPECT_EQ(node.numa_nodes(), 2u);
  EXPECT_EQ(node.threads_per_core(), 2u);
  EXPECT_EQ(node.clock_source(), "kvm-clock");
  std::map<std::string, std::string> facts;
  for (const v1::Fact &fact : node.facts()) facts[fact.name()] = fact.value();
  EXPECT_EQ(facts["governor"], "powersave");
  EXPECT_EQ(facts["transparent hugepages"], "always [madvise] never");
  EXPECT_EQ(facts["nic eth0"], "virtio_net 0x1af4:0x1041 mtu 1500");
  EXPECT_FALSE(facts.contains("nic lo"));
}

TEST(NodeFacts, AnEmptyTreeIsNoTrouble) {
  TemporaryDirectory root;
  v1::Node node = probe_node(Probe(root.path(), cpuid_of(nullptr, 0)));
  EXPECT_EQ(node.facts_size(), 0);
  EXPECT_EQ(node.sockets(), 0u);
}

TEST(NodeFacts, ReadsThisMachine) {
  v1::Node node = probe_node(Probe());
  EXPECT_FALSE(node.host().empty());
  EXPECT_FALSE(node.kernel().empty());
  EXPECT_GT(node.cpus_online(), 0u);
  EXPECT_GT(node.memory_bytes(), 0u);
}

TEST(ClockReader, AnchorsAdvanceTogether) {
  ClockAnchor first = read_anchor(), second = read_anchor();
  EXPECT_GT(second.tsc, first.tsc);
  EXPECT_GE(second.monotonic, first.monotonic);
  EXPECT_GT(first.width, 0u);
  v1::ClockAnchors packet;
  add_anchor(first, ClockKind::kMonotonic, &packet);
  EXPECT_EQ(packet.ticks(0), static_cast<uint64_t>(packet.monotonic_ns(0)));
}

TEST(Modules, ParsesMaps) {
  auto modules = parse_maps(
      "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a program\n"
      "00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/a program\n"
      "7ffff7fc1000-7ffff7fc5000 r-xp 00000000 00:00 0   [vdso]\n"
      "7ffff7fd0000-7ffff7fd5000 r-xp 00000000 00:00 0 \n"
      "nonsense\n");
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].start(), 0x400000u);
  EXPECT_EQ(modules[0].end(), 0x452000u);
  EXPECT_EQ(modules[0].file_offset(), 0x1000u);
  EXPECT_EQ(modules[0].path(), "/usr/bin/a program");
  EXPECT_EQ(modules[1].path(), "[vdso]");
}

TEST(Modules, FindsItsOwnCode) {
  ModuleList modules;
  EXPECT_FALSE(modules.refresh(static_cast<uint32_t>(getpid())).empty());
  EXPECT_TRUE(modules.contains(reinterpret_cast<uint64_t>(&parse_maps)));
  EXPECT_FALSE(modules.contains(16));
  EXPECT_TRUE(modules.refresh(static_cast<uint32_t>(getpid())).empty()) << "nothing new";
  std::string id = read_build_id("/bin/sh");
  EXPECT_EQ(id.size() % 2, 0u);
  EXPECT_GE(id.size(), 16u) << "Debian's binaries have one";
  EXPECT_EQ(read_build_id("/etc/passwd"), "");
  EXPECT_EQ(read_build_id("/nonexistent"), "");
}

TEST(Utf8Text, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(utf8_text("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(utf8_text("a\xff" "b"), "a\\xffb");
  EXPECT_EQ(utf8_text("\xc3"), "\\xc3");
  EXPECT_EQ(utf8_text("\xc0\x80"), "\\xc0\\x80") << "overlong";
  EXPECT_EQ(utf8_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(utf8_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "too large";
}

}  // namespace
}  // namespace slurmscope::test
