// The graphs that a collective library of NCCL's kind finds in a topology: rings, trees and
// in-switch reduction, each by a search of its own.
//
// For a bandwidth, from high to low, and a reach, from NVLink outwards, depth-first search looks
// for as many channels as the links carry at once. A ring must close (inside a node), or come back
// to an adapter of the same rail (between nodes); a tree is a chain that need not close, whose
// bandwidth inside the node may exceed that at the adapter; in-switch reduction needs a head per
// channel and room on every GPU's links. NCCL source, src/graph/{topo,paths,search}.cc.
#pragma once

#include "platforms/collective_graph.hpp"

#include <utility>
#include <vector>

namespace foretrain::platforms {

/// By way of which GPU of a communicator its others reach an adapter that is not beside them
/// (NCCL's PXN, from 2.12 on): the one to whose share the adapter belongs.
struct AdapterOwners {
  std::vector<std::pair<int, int>> gpu_of; // adapter, GPU
  int of(int nic) const;                   // -1: none
};

struct CollectiveGraphs {
  CollectiveGraph ring, tree, in_switch;
  AdapterOwners owners;
};

/// The graphs over some GPUs of a node; with `nics` (adapters of the training network) between
/// nodes of this kind, without inside one. GPUs in rising order.
CollectiveGraphs search_graphs(const PlatformSpec& spec, const NodeGraph& node, const Stack& stack,
                               const std::vector<int>& gpus, const std::vector<int>& nics,
                               const SearchRules& rules);

} // namespace foretrain::platforms
