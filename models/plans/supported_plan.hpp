// Whether a framework's program has what a plan asks for.
#pragma once

#include "models/plans/parallel.hpp"
#include "models/training/plan_limits.hpp"

#include <string>

namespace foretrain::models {

/// What of the plan it has not, and what it has instead: "ZeRO 1 (it has 2 and 3)"; "" where it has
/// all of it.
std::string unsupported(const PlanLimits& limits, const ParallelPlan& plan);

} // namespace foretrain::models
