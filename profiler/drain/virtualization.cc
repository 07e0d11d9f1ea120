// See virtualization.h.
#include "profiler/drain/virtualization.h"

#include <cstring>

namespace slurmscope {
namespace {

struct Marker {
  const char *text, *vm;
};

// By vendor or product in DMI: these say it themselves, whatever CPUID imitates.
constexpr Marker kFirstDmi[] = {{"Xen", "xen"}, {"Amazon EC2", "amazon"}, {"innotek GmbH", "oracle"}, {"VirtualBox", "oracle"},
                                {"Parallels", "parallels"}, {"Google Compute Engine", "google"}};
constexpr Marker kLastDmi[] = {{"KVM", "kvm"}, {"OpenStack", "kvm"}, {"VMware", "vmware"}, {"VMW", "vmware"}, {"QEMU", "qemu"},
                               {"Bochs", "bochs"}, {"BHYVE", "bhyve"}, {"Hyper-V", "microsoft"}, {"Virtual Machine", "microsoft"},
                               {"Apple Virtualization", "apple"}};
// CPUID leaf 0x40000000: ebx, ecx, edx.
constexpr Marker kSignatures[] = {{"KVMKVMKVM", "kvm"}, {"Linux KVM Hv", "kvm"}, {"VMwareVMware", "vmware"},
                                  {"Microsoft Hv", "microsoft"}, {"TCGTCGTCGTCG", "qemu"}, {"XenVMMXenVMM", "xen"},
                                  {"bhyve bhyve ", "bhyve"}, {"ACRNACRNACRN", "acrn"}, {"QNXQVMBSQG", "qnx"}, {"SRESRESRESRE", "sre"}};
constexpr const char *kDmiNames[] = {"product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version", "chassis_asset_tag"};

class Detection {
 public:
  explicit Detection(const Probe &probe) : probe_(probe) {
    for (const char *name : kDmiNames)
      if (auto value = probe.line(std::string("/sys/class/dmi/id/") + name)) dmi_[count_++] = {name, *value};
    auto leaf = probe.cpuid(1);
    if (leaf[2] & 1u << 31) {
      auto hypervisor = probe.cpuid(0x40000000);
      signature_.resize(12);
      std::memcpy(signature_.data(), &hypervisor[1], 12);
      signature_.resize(std::strlen(signature_.c_str()));
      has_hypervisor_ = true;
    }
  }

  v1::Virtualization run() {
    std::string vm = find_vm();
    result_.set_vm(vm);
    // No trace of a hypervisor is only proof if there is firmware that names the machine.
    result_.set_confidence(vm == "none" && count_ == 0 ? "medium" : confidence_);
    result_.set_container(find_container());
    result_.set_steal(find_steal(vm));
    return result_;
  }

 private:
  struct Dmi { std::string name, value; };

  void found(const std::string &evidence) { result_.add_evidence(evidence); }

  template <size_t size> const char *match_dmi(const Marker (&markers)[size]) {
    for (const Marker &marker : markers) {
      for (size_t i = 0; i < count_; i++) {
        if (!dmi_[i].value.starts_with(marker.text)) continue;
        found("dmi " + dmi_[i].name + " = " + dmi_[i].value);
        return marker.vm;
      }
    }
    return nullptr;
  }

  bool is_metal_instance() const {
    for (size_t i = 0; i < count_; i++)
      if (dmi_[i].name == "product_name" && dmi_[i].value.find(".metal") != std::string::npos) return true;
    return false;
  }

  std::string find_vm() {
    if (const char *vm = match_dmi(kFirstDmi)) {
      if (std::strcmp(vm, "amazon") != 0 && std::strcmp(vm, "google") != 0) return vm;
      if (std::strcmp(vm, "amazon") == 0 && is_metal_instance() && !has_hypervisor_) {
        found("dmi product_name names a metal instance");
        return "none";
      }
      if (has_hypervisor_) found("cpuid 0x40000000 = " + signature_);
      return vm;
    }
    if (auto info = probe_.text("/proc/cpuinfo"); info && info->find("User Mode Linux") != std::string::npos) {
      found("/proc/cpuinfo names User Mode Linux");
      return "uml";
    }
    if (probe_.exists("/proc/xen")) {
      auto capabilities = probe_.text("/proc/xen/capabilities");
      if (capabilities && capabilities->find("control_d") != std::string::npos) {
        found("/proc/xen/capabilities: control domain");
        return "none";
      }
      found("/proc/xen");
      return "xen";
    }
    if (has_hypervisor_) {
      found("cpuid leaf 1: hypervisor bit");
      const char *vm = nullptr;
      for (const Marker &marker : kSignatures)
        if (signature_ == std::string(marker.text).substr(0, signature_.size()) && signature_.size() >= 9) vm = marker.vm;
      found("cpuid 0x40000000 = " + signature_);
      // KVM can imitate Hyper-V; its own firmware says so.
      if (vm != nullptr && std::strcmp(vm, "microsoft") == 0)
        if (const char *real = match_dmi(kLastDmi)) return real;
      // Some hypervisors answer user space's CPUID with somebody else's name; the kernel knows its clock.
      auto clocks = probe_.line("/sys/devices/system/clocksource/clocksource0/available_clocksource");
      if (clocks && clocks->find("kvm-clock") != std::string::npos && (vm == nullptr || std::strcmp(vm, "kvm") != 0)) {
        found("available clock sources: " + *clocks);
        confidence_ = "medium";
        return "kvm";
      }
      if (vm != nullptr) return vm;
      if (const char *other = match_dmi(kLastDmi)) return other;
      confidence_ = "medium";
      return "other";
    }
    if (const char *vm = match_dmi(kLastDmi)) return vm;
    if (auto type = probe_.line("/sys/hypervisor/type"); type && !type->empty()) {
      found("/sys/hypervisor/type = " + *type);
      return *type;
    }
    found("cpuid leaf 1: no hypervisor bit");
    return "none";
  }

  std::string find_container() {
    if (probe_.exists("/run/systemd/container"))
      if (auto name = probe_.line("/run/systemd/container"); name && !name->empty()) return *name;
    if (probe_.exists("/.dockerenv")) return "docker";
    if (probe_.exists("/run/.containerenv")) return "podman";
    if (probe_.exists("/.singularity.d") || probe_.exists("/singularity")) return "apptainer";
    if (auto groups = probe_.text("/proc/1/cgroup")) {
      for (const char *name : {"docker", "kubepods", "lxc", "libpod"})
        if (groups->find(name) != std::string::npos) return name;
    }
    return "none";
  }

  // KVM's steal clock is bit 5 of its features; on VMware it is an option that only shows in the count.
  std::string find_steal(const std::string &vm) {
    if (vm == "none") return "not observable";
    if (signature_ == "KVMKVMKVM") return probe_.cpuid(0x40000001)[0] & 1u << 5 ? "observable" : "not observable";
    if (vm == "xen") return "observable";
    if (vm == "qemu" || vm == "microsoft") return "not observable";
    return "unknown";
  }

  const Probe &probe_;
  Dmi dmi_[std::size(kDmiNames)];
  size_t count_ = 0;
  std::string signature_;
  bool has_hypervisor_ = false;
  const char *confidence_ = "high";
  v1::Virtualization result_;
};

}  // namespace

v1::Virtualization detect_virtualization(const Probe &probe) { return Detection(probe).run(); }

}  // namespace slurmscope
