// Points of a fleet's sweep side by side: for people, for programs, and as a page.
#pragma once

#include "experiments/fleet/fleet_points.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Each as short as is clear (short_pointer).
std::vector<std::string> short_pointers(const std::vector<std::string>& pointers);

std::string fleet_points_table(const FleetSweepAnswer& answer);

/// One row a point: settings, jobs, then each quantity with the ends of its range.
std::string fleet_points_csv(const FleetSweepAnswer& answer);

/// A page: the table, waits as bars, and where GPU hours went.
std::string fleet_points_html(const FleetSweepAnswer& answer);

} // namespace foretrain::experiments
