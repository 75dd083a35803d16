// Double binary tree: two binary trees over the nodes, each carrying half of the data; a node is
// inner in one and a leaf in the other. Inside a node a chain of GPUs leads to the one at the
// adapter. Data goes up (reduce) and down (broadcast) in a pipeline.
//
//   latency = 2 (log2(nodes) network hops + (GPUs per node - 1) local hops)
//
// Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// 2009; Jeaugey, "Massively scale your deep learning training with NCCL 2.4", 2019.
#include "models/collectives/tree.hpp"

#include <bit>
#include <cmath>

namespace foretrain::models {

namespace {

// Parent of node i in the tree NCCL builds (src/graph/trees.cc): the lowest set bit of i decides
// the level; node 0 is the root with one child.
int parent_of(int i, int nodes)
{
  if (i == 0)
    return -1;
  const int bit = i & -i;
  const int up = (i ^ bit) | (bit << 1);
  return up >= nodes ? i ^ bit : up;
}

// The second tree is the first one on shifted (odd count) or mirrored (even count) nodes.
int second_parent(int i, int nodes)
{
  if (nodes % 2 == 1) {
    const int p = parent_of((i - 1 + nodes) % nodes, nodes);
    return p < 0 ? -1 : (p + 1) % nodes;
  }
  const int p = parent_of(nodes - 1 - i, nodes);
  return p < 0 ? -1 : nodes - 1 - p;
}

// Ranks of each node in the order of a channel's ring.
std::vector<std::vector<int>> chains_of(const sim::Communicator& comm, const sim::Channel& channel)
{
  std::vector<std::vector<int>> chains(static_cast<std::size_t>(comm.nodes));
  for (const int rank : channel.ring)
    chains[static_cast<std::size_t>(comm.node_of[static_cast<std::size_t>(rank)])].push_back(rank);
  return chains;
}

} // namespace

bool tree_applies(const sim::Communicator& comm)
{
  return !comm.channels.empty() && comm.connect;
}

Pattern tree_all_reduce(const sim::Communicator& comm)
{
  Pattern pattern;
  pattern.family = Family::tree;
  for (std::size_t c = 0; c < comm.channels.size(); ++c) {
    const sim::Channel& channel = comm.channels[c];
    const int number = static_cast<int>(c);
    const auto chains = chains_of(comm, channel);
    const auto both_ways = [&](int child, int parent, double bytes, bool first) {
      const sim::Hop up = comm.connect(child, parent, number);
      const sim::Hop down = comm.connect(parent, child, number);
      pattern.loads.push_back({up, bytes});
      pattern.loads.push_back({down, bytes});
      if (first) {
        pattern.steps.add(up, 1);
        pattern.steps.add(down, 1);
      }
    };
    for (std::size_t n = 0; n < chains.size(); ++n)
      for (std::size_t k = 1; k < chains[n].size(); ++k)
        both_ways(chains[n][k], chains[n][k - 1], channel.share, c == 0 && n == 0);
    int deepest = static_cast<int>(std::bit_width(static_cast<unsigned>(comm.nodes))) - 1;
    for (int n = 0; n < comm.nodes; ++n)
      for (const int parent : {parent_of(n, comm.nodes), second_parent(n, comm.nodes)}) {
        if (parent < 0)
          continue;
        both_ways(chains[static_cast<std::size_t>(n)].front(),
                  chains[static_cast<std::size_t>(parent)].front(), channel.share / 2,
                  c == 0 && deepest-- > 0);
      }
  }
  return pattern;
}

} // namespace foretrain::models
