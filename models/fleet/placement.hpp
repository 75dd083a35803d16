// Which free GPUs a job gets. A placement is one file and one line of the table in placement.cpp.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "sim/base/choice.hpp"

namespace foretrain::models::fleet {

enum class Placement { first_fit, best_fit, consolidate, spread };
constexpr auto choices(Placement)
{
  return std::to_array<Choice<Placement>>({{Placement::first_fit, "first-fit"},
                                           {Placement::best_fit, "best-fit"},
                                           {Placement::consolidate, "consolidate"},
                                           {Placement::spread, "spread"}});
}

struct Request {
  int gpus = 1;
  int nodes = 0; // the same number of GPUs on each of these; 0: as placement chooses
};

/// GPUs for a job, none when it does not fit.
using Place = Allocation (*)(const GpuSet& free, const ClusterShape& shape, const Request& request);
Place place_by(Placement placement);

/// The lowest free numbers, wherever they are.
Allocation first_fit(const GpuSet& free, const ClusterShape& shape, const Request& request);
/// Few nodes if that goes, and those that leave the least unused; else what is free.
Allocation best_fit(const GpuSet& free, const ClusterShape& shape, const Request& request);
/// As few nodes as the job can have, under one switch if that goes; else it waits.
Allocation consolidate(const GpuSet& free, const ClusterShape& shape, const Request& request);
/// As many nodes as there are, the emptiest first.
Allocation spread(const GpuSet& free, const ClusterShape& shape, const Request& request);

/// Where it could be if nothing else ran.
Allocation on_empty_cluster(Placement placement, const ClusterShape& shape, const Request& request);

/// Of some nodes, in their order, `each` GPUs on each of the first that have as many free, and what
/// is left of `gpus` on the first of the others that has it; none when they are too few.
Allocation take_each(const GpuSet& free, const std::vector<int>& nodes, int each, int gpus);

} // namespace foretrain::models::fleet
