#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool sharp_applies(const sim::Communicator& comm);
Pattern sharp_all_reduce(const sim::Communicator& comm);

} // namespace foretrain::models
