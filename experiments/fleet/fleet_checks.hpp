// What must hold between the keys of a fleet file.
#pragma once

#include "experiments/fleet/fleet_spec.hpp"

namespace foretrain::experiments {

/// Whether jobs of the fleet have speeds that are simulated.
bool simulates(const FleetSpec& spec);

/// Throws ConfigError; `root` is the file that was read.
void check_fleet(const FleetSpec& spec, const Value& root);

/// Whether intervals between checkpoints follow from failures: by formula, or as simulations find
/// them.
bool interval_by_failures(const CheckpointSpec& spec);
bool interval_by_simulation(const FleetSpec& spec);

} // namespace foretrain::experiments
