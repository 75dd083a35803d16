#include "models/fleet/placement.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::models::fleet {

Allocation best_fit(const GpuSet& free, const ClusterShape& shape, const Request& request)
{
  if (free.count() < request.gpus)
    return {};
  std::vector<int> nodes(static_cast<std::size_t>(shape.nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const int each = request.nodes > 0 ? (request.gpus + request.nodes - 1) / request.nodes
                                     : std::min(request.gpus, shape.gpus_per_node);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](int a, int b) { return free.count_on(a) < free.count_on(b); });
  Allocation taken = take_each(free, nodes, each, request.gpus);
  if (!taken.empty() || request.nodes > 0)
    return taken;
  int wanted = request.gpus; // no whole places left: few nodes still
  for (auto node = nodes.rbegin(); wanted > 0; ++node) {
    taken.push_back({*node, lowest(free.on(*node), wanted)});
    wanted -= count(taken.back());
  }
  return taken;
}

} // namespace foretrain::models::fleet
