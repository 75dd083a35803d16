// Whether a file expects something of a quantity that no job's result has.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// Throws ConfigError at the expectation whose quantity is misspelt, with the nearest one. What
/// only some jobs have, such as a slowdown, is judged where results are there.
void check_expected_quantities(const LoadedExperiment& experiment);

} // namespace foretrain::experiments
