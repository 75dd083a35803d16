#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool in_switch_applies(const sim::Communicator& comm);
void in_switch_all_reduce(const sim::Communicator& comm, Pattern& pattern);
bool in_switch_tree_applies(const sim::Communicator& comm);
void in_switch_tree_all_reduce(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
