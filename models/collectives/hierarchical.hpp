#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool hierarchical_applies(const sim::Communicator& comm);
Pattern hierarchical_all_reduce(const sim::Communicator& comm);

} // namespace foretrain::models
