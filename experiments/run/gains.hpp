// What limits a job is what brings most when doubled.
#pragma once

#include "experiments/run/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Tells each job's bottleneck its gain when doubled, measured by short runs. Where another lever
/// (levers.hpp) brings more than that of the resource named so far, it is named instead.
void add_gains(const ResolvedExperiment& experiment, const RunOptions& options,
               PointResult& result);

} // namespace foretrain::experiments
