// The graphs that a collective library of NCCL's kind finds in a topology: rings, trees and
// in-switch reduction, each by a search of its own.
//
// For a bandwidth, from high to low, and a reach, from NVLink outwards, depth-first search looks
// for as many channels as the links carry at once. A ring must close (inside a node), or come back
// to an adapter of the same rail (between nodes); a tree is a chain that need not close, whose
// bandwidth inside the node may exceed that at the adapter; in-switch reduction needs a head per
// channel and room on every GPU's links. NCCL source, src/graph/{topo,paths,search}.cc.
#pragma once

#include "platforms/search_system.hpp"

#include <array>
#include <string>
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

struct CollectiveGraphs {
  CollectiveGraph ring, tree, in_switch;
};

/// The graphs over some GPUs of a node; with `nics` (adapters of the training network) between
/// nodes of this kind, without inside one. GPUs in rising order.
CollectiveGraphs search_graphs(const PlatformSpec& spec, const NodeGraph& node, const Stack& stack,
                               const std::vector<int>& gpus, const std::vector<int>& nics,
                               const SearchRules& rules);

} // namespace foretrain::platforms
