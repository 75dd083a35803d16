// What levers bring, by short runs.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/levers.hpp"

#include <vector>

namespace foretrain::experiments {

constexpr int kStepsOfGains = 4; // measured, of each run

/// Throughput of each job over at most `steps` measured steps with levers pulled. Same random
/// numbers for every call with the same options: differences are those of the levers.
std::vector<double> throughputs_with(const ResolvedExperiment& experiment,
                                     const std::vector<const Lever*>& pulled, double factor,
                                     const RunOptions& options, int steps);

} // namespace foretrain::experiments
