// Resources in words for people.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "sim/cost/gpu_vendor.hpp"
#include "sim/engine/resource.hpp"

#include <string>

namespace foretrain::experiments {

/// A resource as people call it: "PCIe uplink of plx0 of node 0".
std::string resource_words(const sim::Resource& resource);

/// Calls the links between GPUs what their maker does, in all that a result says of limits.
void use_link_words(sim::GpuVendor vendor, PointResult& result);

} // namespace foretrain::experiments
