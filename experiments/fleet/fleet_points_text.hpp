// Points of a fleet's sweep side by side: for people, for programs, and as a page.
#pragma once

#include "experiments/fleet/fleet_points.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// "nodes" for "/cluster/nodes" where no other pointer ends so, else "cluster/nodes".
std::vector<std::string> short_pointers(const std::vector<std::string>& pointers);

/// Jobs that never ran: rejected, stuck, or waiting at the end.
int never_run(const FleetJobCounts& jobs);

std::string fleet_points_table(const FleetSweepAnswer& answer);

/// One row a point: settings, jobs, then each quantity with the ends of its range.
std::string fleet_points_csv(const FleetSweepAnswer& answer);

/// A page: the table, waits as bars, and where GPU hours went.
std::string fleet_points_html(const FleetSweepAnswer& answer);

} // namespace foretrain::experiments
