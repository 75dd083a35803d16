// The switch adds: every GPU has its part of the buffer reduced by the switch and multicasts the
// sum. Serving the others' reads takes the whole buffer once, the sums of the own part another
// n-th, in both directions (NVLink SHARP, "NVLS"; Klenk et al., "An In-Network Architecture for
// Accelerating Shared-Memory Multiprocessor Collectives", ISCA 2020). Between nodes one GPU for
// each channel carries the node's sum up and down a double binary tree ("NVLS_TREE").
#include "models/collectives/in_switch.hpp"

#include "models/collectives/tree.hpp"

namespace foretrain::models {

bool in_switch_applies(const sim::Communicator& comm)
{
  return comm.nodes == 1 && comm.in_network_reduction && comm.ranks > 2;
}

namespace {

// Inside nodes: every GPU's links both ways.
void add_inside(Pattern& pattern, const sim::Communicator& comm)
{
  std::vector<std::vector<int>> nodes(static_cast<std::size_t>(comm.nodes));
  for (int r = 0; r < comm.ranks; ++r)
    nodes[static_cast<std::size_t>(comm.node_of[static_cast<std::size_t>(r)])].push_back(r);
  for (const auto& ranks : nodes)
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const double n = static_cast<double>(ranks.size());
      // Around the node every GPU appears once sending and once receiving.
      const sim::Hop hop = comm.connect(ranks[k], ranks[(k + 1) % ranks.size()], 0);
      pattern.loads.add(hop, (1 + 1 / n) / comm.in_network_efficiency);
      if (k == 0 && &ranks == &nodes.front())
        pattern.steps.add(hop, 2); // to the switch and back, twice
    }
}

} // namespace

void in_switch_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  pattern.family = Family::in_switch;
  add_inside(pattern, comm);
}

bool in_switch_tree_applies(const sim::Communicator& comm)
{
  return comm.nodes > 1 && comm.in_network_reduction && !comm.heads.empty() &&
         comm.ranks > 2 * comm.nodes;
}

void in_switch_tree_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  pattern.family = Family::in_switch;
  add_inside(pattern, comm);
  add_tree(pattern, comm.heads, comm.connect_head, comm.nodes);
}

} // namespace foretrain::models
