// Double binary tree: two binary trees over the nodes, each carrying half of the data; a node is
// inner in one and a leaf in the other. Inside a node a chain of GPUs leads to the one at the
// adapter. Data goes up (reduce) and down (broadcast) in a pipeline.
//
//   latency = 2 (log2(nodes) network hops + (GPUs per node - 1) local hops)
//
// Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// 2009; Jeaugey, "Massively scale your deep learning training with NCCL 2.4", 2019.
#include "models/collectives/tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

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

namespace {

// What the rings' order makes of a tree when none was searched for.
std::vector<sim::TreeChannel> trees_of(const sim::Communicator& comm)
{
  if (!comm.trees.empty())
    return comm.trees;
  std::vector<sim::TreeChannel> trees;
  for (const sim::Channel& channel : comm.channels)
    trees.push_back({chains_of(comm, channel), 0, channel.share});
  return trees;
}

} // namespace

void add_tree(Pattern& pattern, const std::vector<sim::TreeChannel>& trees,
              const std::function<sim::Hop(int, int, int)>& connect, int nodes)
{
  for (std::size_t c = 0; c < trees.size(); ++c) {
    const sim::TreeChannel& tree = trees[c];
    const int number = static_cast<int>(c);
    const auto both_ways = [&](int child, int parent, double bytes, bool first) {
      for (const auto& [from, to] : {std::pair{child, parent}, std::pair{parent, child}}) {
        const sim::Hop hop = connect(from, to, number);
        pattern.loads.add(hop, bytes);
        if (first)
          pattern.steps.add(hop, 1);
      }
    };
    for (std::size_t n = 0; n < tree.chains.size(); ++n)
      for (std::size_t k = 1; k < tree.chains[n].size(); ++k)
        both_ways(tree.chains[n][k], tree.chains[n][k - 1], tree.share, c == 0 && n == 0);
    int deepest = static_cast<int>(std::bit_width(static_cast<unsigned>(nodes))) - 1;
    for (const bool mirrored : {false, true}) {
      std::vector<int> children(static_cast<std::size_t>(nodes), 0);
      for (int n = 0; n < nodes; ++n) {
        const int parent = mirrored ? second_parent(n, nodes) : parent_of(n, nodes);
        if (parent < 0)
          continue;
        const auto& chain = tree.chains[static_cast<std::size_t>(parent)];
        const bool second = children[static_cast<std::size_t>(parent)]++ > 0;
        const auto at = second ? static_cast<std::size_t>(tree.second) : 0;
        both_ways(tree.chains[static_cast<std::size_t>(n)].front(),
                  chain[std::min(at, chain.size() - 1)], tree.share / 2,
                  c == 0 && !mirrored && deepest-- > 0);
      }
    }
  }
}

void tree_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  pattern.family = Family::tree;
  const std::vector<sim::TreeChannel> trees = trees_of(comm);
  add_tree(pattern, trees, comm.trees.empty() ? comm.connect : comm.connect_tree, comm.nodes);
  std::set<int> heads;
  for (const sim::TreeChannel& tree : trees)
    heads.insert(tree.chains.front().front());
  pattern.heads = static_cast<int>(heads.size());
}

} // namespace foretrain::models
