// What a seed has brought, as bytes for another process of the same program.
#pragma once

#include "experiments/fleet/speed_table.hpp"
#include "models/fleet/fleet_result.hpp"

#include <string>

namespace foretrain::experiments {

/// A result, and what was simulated of speeds on the way.
std::string packed(const models::fleet::FleetResult& result, const Situations& learnt);

/// The result; what was learnt of speeds the table knows afterwards. Throws std::logic_error where
/// the bytes are no such thing.
models::fleet::FleetResult unpacked(const std::string& bytes, SpeedTable& table);

} // namespace foretrain::experiments
