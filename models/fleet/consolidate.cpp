#include "models/fleet/placement.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

namespace {

// The nodes under each switch, the fullest node first.
std::vector<std::vector<int>> by_switch(const GpuSet& free, const ClusterShape& shape)
{
  const int under = shape.nodes_per_switch > 0 ? shape.nodes_per_switch : shape.nodes;
  std::vector<std::vector<int>> switches;
  for (int first = 0; first < shape.nodes; first += under) {
    switches.emplace_back();
    for (int node = first; node < std::min(first + under, shape.nodes); ++node)
      if (free.count_on(node) > 0)
        switches.back().push_back(node);
    std::stable_sort(switches.back().begin(), switches.back().end(),
                     [&](int a, int b) { return free.count_on(a) < free.count_on(b); });
  }
  return switches;
}

int left_under(const GpuSet& free, const std::vector<int>& nodes)
{
  int gpus = 0;
  for (const int node : nodes)
    gpus += free.count_on(node);
  return gpus;
}

} // namespace

Allocation consolidate(const GpuSet& free, const ClusterShape& shape, const Request& request)
{
  if (free.count() < request.gpus)
    return {};
  const int each = request.nodes > 0 ? (request.gpus + request.nodes - 1) / request.nodes
                                     : std::min(request.gpus, shape.gpus_per_node);
  auto switches = by_switch(free, shape);
  std::stable_sort(switches.begin(), switches.end(), [&](const auto& a, const auto& b) {
    return left_under(free, a) < left_under(free, b);
  });
  for (const std::vector<int>& nodes : switches)
    if (Allocation taken = take_each(free, nodes, each, request.gpus); !taken.empty())
      return taken;
  std::vector<int> all; // over several switches, few of them
  for (auto nodes = switches.rbegin(); nodes != switches.rend(); ++nodes)
    all.insert(all.end(), nodes->begin(), nodes->end());
  return take_each(free, all, each, request.gpus);
}

} // namespace foretrain::models::fleet
