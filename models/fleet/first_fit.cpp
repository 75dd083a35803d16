#include "models/fleet/placement.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::models::fleet {

Allocation first_fit(const GpuSet& free, const ClusterShape& shape, const Request& request)
{
  if (free.count() < request.gpus)
    return {};
  if (request.nodes > 0) {
    std::vector<int> nodes(static_cast<std::size_t>(shape.nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
    return take_each(free, nodes, (request.gpus + request.nodes - 1) / request.nodes, request.gpus);
  }
  Allocation taken;
  int wanted = request.gpus;
  for (int node = 0; wanted > 0; ++node) {
    const GpuBits gpus = lowest(free.on(node), wanted);
    if (gpus == 0)
      continue;
    taken.push_back({node, gpus});
    wanted -= count(taken.back());
  }
  return taken;
}

} // namespace foretrain::models::fleet
