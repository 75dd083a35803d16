#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool hierarchical_applies(const sim::Communicator& comm);
void hierarchical_all_reduce(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
