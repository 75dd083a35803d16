// What of a fleet is simulated: its jobs, drawn or of a trace, and what happens to them.
#pragma once

#include "experiments/fleet/fleet.hpp"

#include <cstdint>

namespace foretrain::experiments {

/// The cluster and the stack, as experiments have them.
SpeedCluster speed_cluster(const LoadedFleet& fleet);

/// The jobs of a seed; `ties`: those of the same second in an order of the seed's.
models::fleet::Workload workload_of(const LoadedFleet& fleet, std::uint64_t seed, bool ties,
                                    SpeedTable& table);

/// All but speeds, history and who decides; the workload's jobs get their checkpoints.
models::fleet::FleetSetting setting_of(const LoadedFleet& fleet, std::uint64_t seed,
                                       SpeedTable& table, models::fleet::Workload& workload);

} // namespace foretrain::experiments
