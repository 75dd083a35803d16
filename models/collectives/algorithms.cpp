// The list of collective algorithms. To add one: write its file, add its line.
#include "models/collectives/collective.hpp"
#include "models/collectives/halving_doubling.hpp"
#include "models/collectives/hierarchical.hpp"
#include "models/collectives/in_switch.hpp"
#include "models/collectives/pairwise.hpp"
#include "models/collectives/ring.hpp"
#include "models/collectives/sharp.hpp"
#include "models/collectives/tree.hpp"

namespace foretrain::models {

namespace {

using enum Operation;

// clang-format off
constexpr Algorithm kAlgorithms[] = {
    {all_reduce, "ring", "reduce-scatter and all-gather around rings", &ring_applies, &ring_all_reduce, &ring_all_reduce_chunks},
    {all_reduce, "tree", "up and down a double binary tree of nodes", &tree_applies, &tree_all_reduce, nullptr},
    {all_reduce, "in-switch", "the switch adds (NVLS)", &in_switch_applies, &in_switch_all_reduce, nullptr},
    {all_reduce, "in-switch-tree", "the switch inside nodes adds, a double binary tree between them (NVLS_TREE)", &in_switch_tree_applies, &in_switch_tree_all_reduce, nullptr},
    {all_reduce, "hierarchical", "reduce in nodes, rings between them, broadcast in nodes", &hierarchical_applies, &hierarchical_all_reduce, nullptr},
    {all_reduce, "halving-doubling", "partners at distances 1, 2, 4, ...", &halving_doubling_applies, &halving_doubling_all_reduce, nullptr},
    {all_reduce, "sharp", "the switches between nodes add (SHARP)", &sharp_applies, &sharp_all_reduce, nullptr},
    {all_gather, "ring", "every part once around", &ring_applies, &ring_one_round, nullptr},
    {reduce_scatter, "ring", "every part once around", &ring_applies, &ring_one_round, nullptr},
    {broadcast, "ring", "a pipeline along the ring", &ring_applies, &ring_broadcast, nullptr},
    {all_to_all, "pairwise", "every rank to every other", &pairwise_applies, &pairwise_all_to_all, nullptr},
    {send_receive, "neighbour", "every rank to the next", &neighbours_apply, &pairwise_send_receive, nullptr},
};
// clang-format on

} // namespace

std::vector<const Algorithm*> algorithms(Operation operation)
{
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : kAlgorithms)
    if (algorithm.operation == operation)
      found.push_back(&algorithm);
  return found;
}

std::vector<std::string> algorithm_names(Operation operation)
{
  std::vector<std::string> names{"auto"};
  for (const Algorithm* algorithm : algorithms(operation))
    names.emplace_back(algorithm->name);
  return names;
}

std::vector<std::string> algorithm_names()
{
  std::vector<std::string> names{"auto"};
  for (const Algorithm& algorithm : kAlgorithms)
    if (std::ranges::find(names, algorithm.name) == names.end())
      names.emplace_back(algorithm.name);
  return names;
}

} // namespace foretrain::models
