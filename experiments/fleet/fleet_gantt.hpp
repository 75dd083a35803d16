// Who held which nodes, and what failures and checkpoints did to them, over a fleet's time.
#pragma once

#include "experiments/fleet/fleet.hpp"

#include <string>

namespace foretrain::experiments {

/// Nodes over time; "" without history.
std::string fleet_gantt(const FleetRun& run);

/// GPUs that write checkpoints, restart, lose their work or are down, over time; "" where none
/// does.
std::string overheads_over_time(const FleetRun& run);

} // namespace foretrain::experiments
