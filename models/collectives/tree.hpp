#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool tree_applies(const sim::Communicator& comm);
void tree_all_reduce(const sim::Communicator& comm, Pattern& pattern);

/// Adds the loads and steps of a double binary tree over nodes, with a chain inside each.
void add_tree(Pattern& pattern, const std::vector<sim::TreeChannel>& trees,
              const std::function<sim::Hop(int, int, int)>& connect, int nodes);

} // namespace foretrain::models
