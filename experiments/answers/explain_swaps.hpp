// What other choices of software and storage would bring.
#pragma once

#include "experiments/run/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// [{ pointer, from, to, gains }]: every other host layer, transport, framework, precision, input
/// format and storage system that fits; a gain for each job, against the rates `base`. What does
/// not fit is left out.
Json swapped(const Point& point, const ResolvedExperiment& experiment,
             const std::vector<double>& base, const RunOptions& options, int steps);

} // namespace foretrain::experiments
