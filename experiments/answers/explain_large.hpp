// Why a large model's step takes as long as it does, and what would make it shorter.
#pragma once

#include "experiments/answers/explain_options.hpp"
#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// The job of explain's answer for a point whose job is a transformer's (is_large): the parts of
/// the step of the busiest stage, and what better hardware, a quicker host and other choices of the
/// stack would bring, each found by running the step again. Throws ConfigError.
Json explained_large_job(const Point& point, const ExplainOptions& options);

} // namespace foretrain::experiments
