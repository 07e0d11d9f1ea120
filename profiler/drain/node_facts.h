// The node's fingerprint: what makes two nodes' numbers comparable, or not.
#pragma once

#include "proto/slurmscope.pb.h"
#include "profiler/drain/probe.h"

namespace slurmscope {

/// Everything that can be read now. What cannot be read is absent.
v1::Node probe_node(const Probe &probe);

}  // namespace slurmscope
