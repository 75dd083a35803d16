// What other choices of software and storage would bring.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Transports that lead from node to node.
std::vector<std::string> transports_between_nodes(const Value& root);

/// Whether a swap is advice for the job: not one that costs another job, whose choice it is, what
/// this one gains.
bool concerns(const Json& swap, std::size_t job);

/// [{ pointer, from, to, gains }]: every other host layer, transport, framework, precision, input
/// format and storage system that fits; a gain for each job, against the rates `base`. What does
/// not fit is left out.
Json swapped(const Point& point, const ResolvedExperiment& experiment,
             const std::vector<double>& base, const RunOptions& options, int steps);

} // namespace foretrain::experiments
