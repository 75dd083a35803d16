// The numbers that shaped a prediction, with where they came from.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolve.hpp"

namespace foretrain::experiments {

std::vector<Parameter> effective_parameters(const ResolvedExperiment& experiment);

} // namespace foretrain::experiments
