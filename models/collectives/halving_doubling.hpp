#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool halving_doubling_applies(const sim::Communicator& comm);
void halving_doubling_all_reduce(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
