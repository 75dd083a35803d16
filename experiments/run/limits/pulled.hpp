// What levers bring, by short runs.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/levers.hpp"

#include <vector>

namespace foretrain::experiments {

/// Throughput of each job with levers pulled, of a run that compares. Same random numbers for every
/// call with the same options: differences are those of the levers.
std::vector<double> throughputs_with(const ResolvedExperiment& experiment,
                                     const std::vector<const Lever*>& pulled, double factor,
                                     const RunOptions& options);

/// Part of a step that a gain of throughput saves.
double saved_by(double gain);

/// What rates are more than these, relative, by job.
std::vector<double> gains_over(const std::vector<double>& base, const std::vector<double>& rates);

} // namespace foretrain::experiments
