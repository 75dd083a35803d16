// What each parameter's spread does to throughput, from few runs.
#pragma once

#include "experiments/run/uncertainty/probe.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"

namespace foretrain::experiments {

/// Effect of one standard deviation of each variable on each job's logarithm of throughput:
/// [variable][job]. Variables that do nothing together are not run one by one.
std::vector<LogRates> linear_effects(const Probe& probe, const std::vector<Variable>& variables);

} // namespace foretrain::experiments
