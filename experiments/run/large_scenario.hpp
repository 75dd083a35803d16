// Runs the job of a large model.
#pragma once

#include "experiments/run/result.hpp"
#include "experiments/spec/large_job.hpp"

namespace foretrain::experiments {

/// A point whose job is a transformer's (is_large). Throws ConfigError.
PointResult run_large_point(const Point& point, const RunOptions& options);

/// Whether the fullest stage's GPUs have memory for it.
bool fits(const LargeExperiment& experiment);

/// Samples per second only, of what has been resolved or of a point.
double large_throughput(const LargeExperiment& experiment, const RunOptions& options);
double quick_large_throughput(const Point& point, const RunOptions& options);

} // namespace foretrain::experiments
