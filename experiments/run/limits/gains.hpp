// What limits a job is what brings most when doubled.
#pragma once

#include "experiments/run/limits/pulled.hpp"

namespace foretrain::experiments {

constexpr double kNoGain = 0.001; // of throughput: not worth a word

/// Tells each job's bottleneck its gain when doubled, measured by short runs. Where another lever
/// (levers.hpp) brings more than that of the resource named so far, by more than a percent of
/// throughput, it is named instead; those within a percent of what is named are told as ties. Links
/// that hide each other are named together where that brings more (tight_links.hpp).
/// Also warns where the collective library takes the slower algorithm.
void add_gains(const ResolvedExperiment& experiment, const RunOptions& options,
               PointResult& result);

} // namespace foretrain::experiments
