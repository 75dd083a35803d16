// One point brought to life: platform, stack and jobs in one engine, run, and looked at.
#pragma once

#include "experiments/run/result.hpp"

namespace foretrain::experiments {

/// Simulates a point. Throws ConfigError for what does not fit together.
PointResult run_point(const Point& point, const RunOptions& options);

/// Median throughput of each job in samples per second over at most `steps` measured steps, without
/// anything else that run_point finds out.
std::vector<double> quick_throughputs(const Point& point, const RunOptions& options, int steps);

} // namespace foretrain::experiments
