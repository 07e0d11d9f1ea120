// Is this node a virtual machine, a container, or both: from DMI, CPUID, and what hypervisors leave behind.
#pragma once

#include "proto/slurmscope.pb.h"
#include "profiler/drain/probe.h"

namespace slurmscope {

/// The order follows what is least easily faked: a hypervisor that names itself in DMI may imitate another
/// one in CPUID (Hyper-V's enlightenments under KVM), and the Xen control domain is bare metal.
v1::Virtualization detect_virtualization(const Probe &probe);

}  // namespace slurmscope
