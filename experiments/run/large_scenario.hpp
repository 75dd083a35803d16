// Runs the job of a large model.
#pragma once

#include "experiments/run/result.hpp"

namespace foretrain::experiments {

/// A point whose job is a transformer's (is_large). Throws ConfigError.
PointResult run_large_point(const Point& point, const RunOptions& options);

/// Samples per second only.
double quick_large_throughput(const Point& point, const RunOptions& options);

} // namespace foretrain::experiments
