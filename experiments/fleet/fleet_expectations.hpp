// Expectations of a fleet file, held against its answers.
#pragma once

#include "experiments/answers/expectations.hpp"
#include "experiments/fleet/fleet_points.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Every expectation at every point that it is about: by the median over seeds, with the share of
/// seeds that violate it as the chance where there are several. One that is about no point has a
/// problem, unless --set narrowed the sweep. Throws ConfigError for a quantity that is no number.
std::vector<JudgedExpectation> judged_fleet_expectations(const FleetFile& file,
                                                         const std::vector<FleetPointRun>& points);

/// Those that the medians violate, a line each.
std::vector<std::string> violated_fleet_expectations(const FleetFile& file,
                                                     const std::vector<FleetPointRun>& points);

} // namespace foretrain::experiments
