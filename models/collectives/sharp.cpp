// The switches between the nodes add: the GPUs of a node reduce-scatter among themselves, each
// sends its part up, the switches add the parts of all nodes and send the sum down, the GPUs of a
// node all-gather. Every adapter carries each byte of its share once each way, whatever the number
// of nodes, where a ring carries 2 (N - 1) / N; and there is one network step. Graham et al.,
// "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016; streaming aggregation: Graham
// et al., ISC 2020.
#include "models/collectives/sharp.hpp"

#include <algorithm>

namespace foretrain::models {

// Needs switches that add, and as many GPUs in each node.
bool sharp_applies(const sim::Communicator& comm)
{
  if (!comm.fabric_reduction || !comm.connect || comm.ranks % comm.nodes != 0)
    return false;
  std::vector<int> count(static_cast<std::size_t>(comm.nodes));
  for (const int node : comm.node_of)
    ++count[static_cast<std::size_t>(node)];
  return std::all_of(count.begin(), count.end(), [&](int n) { return n == count.front(); });
}

void sharp_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  pattern.family = Family::tree;
  std::vector<std::vector<int>> nodes(static_cast<std::size_t>(comm.nodes));
  for (int r = 0; r < comm.ranks; ++r)
    nodes[static_cast<std::size_t>(comm.node_of[static_cast<std::size_t>(r)])].push_back(r);
  const double local = static_cast<double>(nodes.front().size());
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (std::size_t k = 0; k < nodes[a].size(); ++k) {
      const int channel = static_cast<int>(k % comm.channels.size());
      // Around the nodes every adapter appears once sending and once receiving, as it does when
      // each talks to its switch.
      const auto add = [&](int to, double bytes, double steps) {
        const sim::Hop hop = comm.connect(nodes[a][k], to, channel);
        pattern.loads.add(hop, bytes);
        if (a == 0 && k == 0)
          pattern.steps.add(hop, steps);
      };
      add(nodes[(a + 1) % nodes.size()][k], 1 / local, 1);
      if (local > 1)
        add(nodes[a][(k + 1) % nodes[a].size()], 2 * (local - 1) / local, 2 * (local - 1));
    }
}

} // namespace foretrain::models
