// When nodes were down, as a site recorded it.
#pragma once

#include "models/fleet/outages.hpp"

#include <filesystem>
#include <vector>

namespace foretrain::experiments {

/// CSV with columns node, start_day and end_day, in any order among others, of a cluster of so many
/// nodes. Faults of a node that is down already are one with the first. Throws ConfigError.
std::vector<models::fleet::Outage> read_fault_trace(const std::filesystem::path& path, int nodes);

} // namespace foretrain::experiments
