// Planned maintenance: nodes that are taken out of service for a while that is known in advance.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "sim/base/units.hpp"

#include <span>
#include <vector>

namespace foretrain::models::fleet {

/// Nodes first ... first + nodes - 1 are out of service from one time until another one.
struct Window {
  Seconds from, until;
  int first = 0, nodes = 0;

  bool holds(int node) const { return node >= first && node < first + nodes; }
};

/// What of some free GPUs can be used by a job that starts at a time and takes so long: those of
/// nodes that no window takes before its end.
GpuSet without_windows(GpuSet free, const ClusterShape& shape, std::span<const Window> windows,
                       Seconds start, Seconds length);

/// All GPUs of a window's nodes.
Allocation gpus_of(const Window& window, const ClusterShape& shape);

} // namespace foretrain::models::fleet
