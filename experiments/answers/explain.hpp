// Why a point is as fast as it is, and what would make it faster.
#pragma once

#include "experiments/answers/explain_options.hpp"
#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// The answer of docs/explain.md about one point. Every gain is that of a run of the simulation
/// with the same random numbers. Throws ConfigError for what does not fit together.
Json explain(const LoadedExperiment& experiment, std::size_t point, const ExplainOptions& options);

} // namespace foretrain::experiments
