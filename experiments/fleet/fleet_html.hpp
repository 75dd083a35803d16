// The page of a fleet: its answer, use and queue over time, and who held which GPUs.
#pragma once

#include "experiments/fleet/fleet_answer.hpp"

#include <string>

namespace foretrain::experiments {

/// `run`: the first one, with its history.
std::string fleet_html(const FleetAnswer& answer, const FleetRun& run);

} // namespace foretrain::experiments
