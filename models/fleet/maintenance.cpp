#include "models/fleet/maintenance.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

bool Window::admits(const Job& job) const
{
  return std::find(accounts.begin(), accounts.end(), job.account) != accounts.end() ||
         std::find(queues.begin(), queues.end(), job.queue) != queues.end();
}

GpuSet without_windows(GpuSet free, const ClusterShape& shape, std::span<const Window> windows,
                       const Job& job, Seconds start, Seconds length)
{
  for (const Window& window : windows)
    if (window.from < start + length && start < window.until && !window.admits(job))
      free.remove(gpus_of(window, shape));
  return free;
}

Allocation gpus_of(const Window& window, const ClusterShape& shape)
{
  Allocation gpus;
  for (int node = window.first; node < window.first + window.nodes; ++node)
    gpus.push_back({node, first_gpus(shape.gpus_per_node)});
  return gpus;
}

} // namespace foretrain::models::fleet
