// A platform for people: the matrix of `nvidia-smi topo -m`, bandwidths, rings, bisection.
#pragma once

#include "platforms/graph_search.hpp"
#include "platforms/machine.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// Copies between GPUs of one node, simulated: GB/s and microseconds, [from][to]. The diagonal is a
/// copy inside the device, read and written bytes counted (as p2pBandwidthLatencyTest does).
struct PeerMatrix {
  std::vector<std::vector<double>> one_way;   // GB/s
  std::vector<std::vector<double>> both_ways; // GB/s, both directions together
  std::vector<std::vector<double>> latency;   // us
};
PeerMatrix peer_matrix(const PlatformSpec& spec, const Stack& stack, bool peer_access);

/// Lowest bandwidth across any split of the GPUs into two equal halves, one direction: inside a
/// node (maximum flow over NVLink and PCIe; all splits tried, of more than 16 GPUs the one
/// by sockets alone), and between halves of `nodes` nodes.
BytesPerSecond node_bisection(const PlatformSpec& spec);
BytesPerSecond cluster_bisection(const PlatformSpec& spec, int nodes);

std::string topology_matrix(const PlatformSpec& spec);
std::string peer_table(const PlatformSpec& spec, const Stack& stack, bool peer_access);
/// The rings a collective would use over the first `gpus` GPUs.
std::string rings_text(const PlatformSpec& spec, const Stack& stack, int gpus);
std::string platform_text(const PlatformSpec& spec, const Stack& stack);

/// SimGrid XML (DTD version 4.1) of `nodes` nodes, and Graphviz of one node.
std::string to_simgrid_xml(const PlatformSpec& spec, int nodes);
std::string to_graphviz(const PlatformSpec& spec);

/// The graphs that a library's search finds for the first GPUs of each node: channels, their orders
/// and the bandwidths that it assumes.
std::string graphs_text(const PlatformSpec& spec, const Stack& stack, int gpus, int nodes,
                        const SearchRules& rules);

} // namespace foretrain::platforms
