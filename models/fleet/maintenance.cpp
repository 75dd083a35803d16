#include "models/fleet/maintenance.hpp"

#include <algorithm>
#include <utility>

namespace foretrain::models::fleet {

bool Window::admits(const Job& job) const
{
  return std::find(accounts.begin(), accounts.end(), job.account) != accounts.end() ||
         std::find(queues.begin(), queues.end(), job.queue) != queues.end();
}

Windows::Windows(std::vector<Window> windows) : windows_(std::move(windows))
{
  for (const Window& window : windows_)
    over_.push_back(over_.empty() ? window.until : std::max(over_.back(), window.until));
}

std::span<const Window> Windows::about(Seconds from, Seconds until) const
{
  const auto first = std::upper_bound(over_.begin(), over_.end(), from) - over_.begin();
  const auto last = std::ranges::lower_bound(windows_, until, {}, &Window::from) - windows_.begin();
  return all().subspan(static_cast<std::size_t>(first),
                       static_cast<std::size_t>(std::max(last, first) - first));
}

GpuSet without_windows(GpuSet free, const ClusterShape& shape, const Windows& windows,
                       const Job& job, Seconds start, Seconds length)
{
  for (const Window& window : windows.about(start, start + length))
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
