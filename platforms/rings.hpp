// Communicators: the channels on which the GPUs of a job exchange data, from the graphs that a
// library finds in the topology (platforms/graph_search.hpp).
#pragma once

#include "platforms/graph_search.hpp"
#include "platforms/machine.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

struct GraphRules {
  sim::RingOrder order = sim::RingOrder::search;
  SearchRules search;
};

/// The communicator of a job whose rank r runs on ranks[r]. Channels come out in a fixed order;
/// channels that take the same way are one here, with the share of all. The machine must outlive
/// it.
sim::Communicator make_communicator(const Machine& machine, const std::vector<GpuPlace>& ranks,
                                    const std::string& name, const GraphRules& rules = {});

/// The graphs over the first GPUs of a node, and between such nodes when there are several.
CollectiveGraphs graphs_of(const Machine& machine, const std::vector<int>& gpus, bool between,
                           const SearchRules& rules);

} // namespace foretrain::platforms
