// What jobs lose by sharing a machine, and on which resource.
#pragma once

#include "experiments/result.hpp"
#include "experiments/stage.hpp"

namespace foretrain::experiments {

/// The resource that limits job `i` longer than when it has the machine to itself, or none when
/// nothing does. `alone` holds the same job as its only one.
std::optional<Meeting> meeting_resource(const Stage& together, std::size_t i, const Stage& alone);

} // namespace foretrain::experiments
