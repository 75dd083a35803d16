#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool tree_applies(const sim::Communicator& comm);
Pattern tree_all_reduce(const sim::Communicator& comm);

} // namespace foretrain::models
