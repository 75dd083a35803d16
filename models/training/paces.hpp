// How much longer than the usual one each GPU of a job takes for the same work.
#pragma once

#include "sim/engine/random.hpp"

#include <vector>

namespace foretrain::models {

/// Factors on the time of `ranks` GPUs whose times have this coefficient of variation: the normal
/// scores of so many, in random order. One GPU alone is the usual one, so that a job waits for its
/// slowest GPU as jobs of so many GPUs do on average, whatever the seed.
std::vector<double> paces(int ranks, double variation, sim::RandomStream random);

} // namespace foretrain::models
