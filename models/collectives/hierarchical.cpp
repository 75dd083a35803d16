// Hierarchical: the GPUs of a node reduce-scatter among themselves, the k-th GPUs of all nodes
// all-reduce their n-th around a ring, the GPUs of a node all-gather. Every adapter carries
// 2 (N - 1) / N of the buffer for N nodes, as in a flat ring, but the local part is done at local
// speed and there are only 2 (N - 1) network steps. Jia et al., "Highly Scalable Deep Learning
// Training System with Mixed-Precision", 2018.
#include "models/collectives/hierarchical.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

std::vector<std::vector<int>> nodes_of(const sim::Communicator& comm)
{
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(comm.nodes));
  for (int r = 0; r < comm.ranks; ++r)
    ranks[static_cast<std::size_t>(comm.node_of[static_cast<std::size_t>(r)])].push_back(r);
  return ranks;
}

} // namespace

// Needs as many GPUs in each node.
bool hierarchical_applies(const sim::Communicator& comm)
{
  if (comm.nodes < 2 || !comm.connect || comm.ranks % comm.nodes != 0)
    return false;
  const auto nodes = nodes_of(comm);
  return nodes.front().size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(),
                     [&](const auto& ranks) { return ranks.size() == nodes.front().size(); });
}

void hierarchical_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  const auto nodes = nodes_of(comm);
  const double n = comm.nodes;
  const auto local = static_cast<double>(nodes.front().size());
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (std::size_t k = 0; k < nodes[a].size(); ++k) {
      const int rank = nodes[a][k];
      const int channel = static_cast<int>(k % comm.channels.size());
      const sim::Hop beside = comm.connect(rank, nodes[a][(k + 1) % nodes[a].size()], channel);
      const sim::Hop beyond = comm.connect(rank, nodes[(a + 1) % nodes.size()][k], channel);
      // Reduce-scatter and all-gather inside: (local - 1) / local each.
      pattern.loads.add(beside, 2 * (local - 1) / local);
      pattern.loads.add(beyond, 2 * (n - 1) / n / local);
      if (a == 0 && k == 0) {
        pattern.steps.add(beside, 2 * (local - 1));
        pattern.steps.add(beyond, 2 * (n - 1));
      }
    }
}

} // namespace foretrain::models
