// Starting values of all parameters, the same on every rank and in both engines.
#pragma once

#include "realrun/common/program.hpp"

#include <vector>

namespace foretrain::realrun {

/// Normal weights with deviation sqrt(gain / fan_in), constant biases; own generator, so that every
/// standard library gives the same numbers.
std::vector<float> starting_parameters(const Program& program, int seed);

} // namespace foretrain::realrun
