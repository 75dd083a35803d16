// What limited several flows, added up by resource.
#pragma once

#include "sim/engine/engine.hpp"

#include <vector>

namespace foretrain::models {

/// `times`: flows that the limits are those of.
void add_limits(std::vector<sim::LimitedBy>& sums, const std::vector<sim::LimitedBy>& limits,
                int times = 1);
/// The same limits, those of the longest time first.
std::vector<sim::LimitedBy> longest_first(std::vector<sim::LimitedBy> sums);

} // namespace foretrain::models
