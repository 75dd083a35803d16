// How far a prediction may be off because its parameters may be.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Widens the ranges of throughput and step time by the spread of parameters, as
/// options.uncertainty asks for, and says which parameters matter. Nothing changes where it asks
/// for steps alone.
void add_uncertainty(const Point& point, const ResolvedExperiment& experiment,
                     const RunOptions& options, PointResult& result);

} // namespace foretrain::experiments
