// What a search for the channels of a collective finds (graph_search.hpp).
#pragma once

#include "platforms/search_system.hpp"

#include <array>
#include <vector>

namespace foretrain::platforms {

enum class GraphPattern { ring, tree, split_tree, balanced_tree, in_switch };

/// What a search found. Zero channels: nothing.
struct CollectiveGraph {
  GraphPattern pattern = GraphPattern::ring;
  int channels = 0;
  double bandwidth_inside = 0; // of one channel, GB/s
  double bandwidth_between = 0;
  PathReach reach_inside = PathReach::local;
  PathReach reach_between = PathReach::local;
  /// For each channel the GPUs of the node (their numbers) in order: a ring leaves the node at the
  /// last one, a tree goes up and down at the first, a switch's channel belongs to the first.
  std::vector<std::vector<int>> orders;
  /// Adapters by which each channel comes in and goes out; -1 inside one node.
  std::vector<std::array<int, 2>> nics;
};

} // namespace foretrain::platforms
