#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool in_switch_applies(const sim::Communicator& comm);
Pattern in_switch_all_reduce(const sim::Communicator& comm);
bool in_switch_tree_applies(const sim::Communicator& comm);
Pattern in_switch_tree_all_reduce(const sim::Communicator& comm);

} // namespace foretrain::models
