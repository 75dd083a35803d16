// The same job on one GPU: what speedup counts against.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

#include <cstddef>

namespace foretrain::experiments {

/// The experiment with one of its jobs, which starts at once and keeps its cores and memory.
ResolvedExperiment only(ResolvedExperiment experiment, std::size_t job);

/// Whether a job on one GPU can be simulated: not of programs, unless a profile tells their
/// kernels, nor of large models, which one GPU may not hold.
bool runs_on_one_gpu(const ResolvedJob& job);

/// Throughput of the same job alone on one GPU of the same machine and stack.
double one_gpu_throughput(const ResolvedExperiment& experiment, std::size_t job,
                          const RunOptions& options);

} // namespace foretrain::experiments
