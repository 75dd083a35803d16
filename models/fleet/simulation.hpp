// A cluster over time: jobs come, wait, run at a rate, fail, write checkpoints and end. Rates are
// constant between events, so that time passes from one to the next.
#pragma once

#include "models/fleet/fleet_result.hpp"
#include "models/fleet/setting.hpp"

namespace foretrain::models::fleet {

/// The workload's jobs are in order of submission.
FleetResult simulate(const Workload& workload, const FleetSetting& setting);

} // namespace foretrain::models::fleet
