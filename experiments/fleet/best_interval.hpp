// The interval between checkpoints that costs least, found by simulation.
#pragma once

#include "experiments/fleet/fleet.hpp"

#include <functional>
#include <vector>

namespace foretrain::experiments {

/// Of factors from a quarter to four times Daly's interval of each job, the one with which least
/// GPU time is held for the work that is done, with the same seeds for all.
double
best_interval_scale(const LoadedFleet& fleet,
                    const std::function<std::vector<FleetRun>(const LoadedFleet&)>& simulate);

} // namespace foretrain::experiments
