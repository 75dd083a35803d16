// Which point of a sweep is faster, and how sure that is.
#pragma once

#include "experiments/experiment.hpp"

namespace foretrain::experiments {

/// For each job: the best point against the others that come nearest, each with the probability
/// that the best is faster. What two points share (the same GPU, off by the same factor) does not
/// count against their order. Points whose models differ are not compared. An array of { job,
/// point, than, probability }, points counted from 0 in the order of the sweep.
Json compare_points(const std::vector<Json>& points, const LoadedExperiment& experiment);

} // namespace foretrain::experiments
