#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool sharp_applies(const sim::Communicator& comm);
void sharp_all_reduce(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
