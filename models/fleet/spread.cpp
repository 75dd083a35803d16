#include "models/fleet/placement.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::models::fleet {

Allocation spread(const GpuSet& free, const ClusterShape& shape, const Request& request)
{
  if (free.count() < request.gpus)
    return {};
  std::vector<int> nodes(static_cast<std::size_t>(shape.nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](int a, int b) { return free.count_on(a) > free.count_on(b); });
  if (request.nodes > 0)
    return take_each(free, nodes, (request.gpus + request.nodes - 1) / request.nodes, request.gpus);
  std::vector<int> taken(nodes.size(), 0);
  int wanted = request.gpus;
  while (wanted > 0) // one of each node in turn
    for (std::size_t i = 0; i < nodes.size() && wanted > 0; ++i)
      if (taken[i] < free.count_on(nodes[i])) {
        ++taken[i];
        --wanted;
      }
  Allocation allocation;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (taken[i] > 0)
      allocation.push_back({nodes[i], lowest(free.on(nodes[i]), taken[i])});
  return allocation;
}

} // namespace foretrain::models::fleet
