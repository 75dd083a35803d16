// Resources in words for people.
#pragma once

#include "sim/engine/resource.hpp"

#include <string>

namespace foretrain::experiments {

/// A resource as people call it: "PCIe uplink of plx0 of node 0".
std::string resource_words(const sim::Resource& resource);

} // namespace foretrain::experiments
