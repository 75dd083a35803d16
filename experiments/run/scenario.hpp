// One point brought to life: platform, stack and jobs in one engine, run, and looked at.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Simulates a point. Throws ConfigError for what does not fit together.
PointResult run_point(const Point& point, const RunOptions& options);

/// Median throughput of each job in samples per second, the same as run_point's.
std::vector<double> point_throughputs(const Point& point, const RunOptions& options);

/// Median throughput of each job in samples per second over at most `steps` measured steps, without
/// anything else that run_point finds out.
std::vector<double> quick_throughputs(const Point& point, const RunOptions& options, int steps);

/// Throughput of the same job alone on one GPU of the same machine and stack.
double one_gpu_throughput(const ResolvedExperiment& experiment, std::size_t job,
                          const RunOptions& options);

} // namespace foretrain::experiments
