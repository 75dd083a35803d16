#include "models/fleet/placement.hpp"

#include <algorithm>
#include <stdexcept>

namespace foretrain::models::fleet {

namespace {

struct PlacementEntry {
  Placement placement;
  Place place;
};

constexpr PlacementEntry kPlacements[] = {
    {Placement::first_fit, &first_fit},
    {Placement::best_fit, &best_fit},
    {Placement::consolidate, &consolidate},
    {Placement::spread, &spread},
};

} // namespace

Place place_by(Placement placement)
{
  for (const PlacementEntry& entry : kPlacements)
    if (entry.placement == placement)
      return entry.place;
  throw std::logic_error("a placement without a function");
}

Allocation on_empty_cluster(Placement placement, const ClusterShape& shape, const Request& request)
{
  GpuSet all(shape);
  const GpuBits every = first_gpus(shape.gpus_per_node);
  for (int node = 0; node < shape.nodes; ++node)
    all.add({node, every});
  return place_by(placement)(all, shape, request);
}

Allocation take_each(const GpuSet& free, const std::vector<int>& nodes, int each, int gpus)
{
  Allocation taken;
  std::vector<int> left;
  for (const int node : nodes)
    if (gpus >= each && free.count_on(node) >= each) {
      taken.push_back({node, lowest(free.on(node), each)});
      gpus -= each;
    } else if (gpus % each > 0) {
      left.push_back(node);
    }
  if (gpus == 0)
    return taken;
  const auto rest =
      std::find_if(left.begin(), left.end(), [&](int node) { return free.count_on(node) >= gpus; });
  if (gpus >= each || rest == left.end())
    return {};
  taken.push_back({*rest, lowest(free.on(*rest), gpus)});
  return taken;
}

} // namespace foretrain::models::fleet
