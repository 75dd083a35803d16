// Where the time of a step goes: its critical path, part by part, and what each part waits for.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// For each job { name, gpus, step_time_s, critical_path }:
/// the parts of the mean step, which add up to it, the longest first, each with the resources that
/// limited what it waits for (share of the time that this moved or computed).
Json critical_paths(const ResolvedExperiment& experiment, const RunOptions& options);

} // namespace foretrain::experiments
