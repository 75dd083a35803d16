// Names what a job waits for.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "platforms/machine.hpp"

#include <set>

namespace foretrain::experiments {

/// Resources of the job's nodes, and of the fabric, by utilisation while the job was measured; at
/// most five. `foreign`: those that others use and the job does not, which are left out.
std::vector<ResourceUse> busiest_resources(const sim::Engine& engine, const models::Job& job,
                                           const std::vector<platforms::GpuPlace>& ranks,
                                           const std::set<int>& foreign);

/// The largest part of the step time, and the resource behind it.
Bottleneck find_bottleneck(const sim::Engine& engine, const platforms::Machine& machine,
                           const models::Job& job, const std::vector<platforms::GpuPlace>& ranks,
                           const JobResult& result);

/// What limits, as people call it, wherever it is: "GPUs", not "node0/gpu0/compute".
std::string limit_name(const Bottleneck& limit);

} // namespace foretrain::experiments
