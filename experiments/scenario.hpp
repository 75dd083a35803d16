// One point brought to life: platform, stack and jobs in one engine, run, and looked at.
#pragma once

#include "experiments/result.hpp"

namespace foretrain::experiments {

/// Simulates a point. Throws ConfigError for what does not fit together.
PointResult run_point(const Point& point, const RunOptions& options);

} // namespace foretrain::experiments
