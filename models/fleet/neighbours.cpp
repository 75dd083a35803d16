#include "models/fleet/neighbours.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

std::vector<std::vector<JobId>> groups_of_changed(const Scheduler& scheduler,
                                                  const std::vector<JobId>& running,
                                                  const std::vector<JobId>& changed,
                                                  const std::vector<int>& changed_nodes, int nodes)
{
  std::vector<std::vector<JobId>> on_node(static_cast<std::size_t>(nodes));
  for (const JobId id : running)
    for (const Slice& slice : scheduler.held(id))
      on_node[static_cast<std::size_t>(slice.node)].push_back(id);
  std::vector<JobId> seeds = changed;
  for (const int node : changed_nodes)
    seeds.insert(seeds.end(), on_node[static_cast<std::size_t>(node)].begin(),
                 on_node[static_cast<std::size_t>(node)].end());
  std::sort(seeds.begin(), seeds.end());
  std::vector<std::vector<JobId>> groups;
  std::vector<JobId> seen;
  for (const JobId seed : seeds) {
    if (std::find(seen.begin(), seen.end(), seed) != seen.end())
      continue;
    std::vector<JobId> group{seed};
    for (std::size_t i = 0; i < group.size(); ++i)
      for (const Slice& slice : scheduler.held(group[i]))
        for (const JobId other : on_node[static_cast<std::size_t>(slice.node)])
          if (std::find(group.begin(), group.end(), other) == group.end())
            group.push_back(other);
    std::sort(group.begin(), group.end());
    seen.insert(seen.end(), group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

} // namespace foretrain::models::fleet
