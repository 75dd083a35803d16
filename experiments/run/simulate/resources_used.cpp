#include "experiments/run/simulate/resources_used.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

void add(std::set<int>& resources, const std::vector<sim::Use>& uses)
{
  for (const sim::Use& use : uses)
    resources.insert(use.resource);
}

} // namespace

void add_used(std::set<int>& resources, const sim::PathPtr& path)
{
  if (!path)
    return;
  add(resources, path->uses);
  add(resources, path->held.uses);
}

std::set<int> resources_of(const models::Collective& call)
{
  std::set<int> resources;
  for (const sim::Channel& channel : call.communicator().channels)
    for (const sim::Hop& hop : channel.hops)
      add(resources, hop.uses);
  return resources;
}

bool have_common(const std::set<int>& a, const std::set<int>& b)
{
  return std::any_of(a.begin(), a.end(), [&](int resource) { return b.contains(resource); });
}

std::vector<CollectivePtr> that_meet(std::vector<CollectivePtr> sets, std::vector<bool> seen)
{
  std::vector<std::set<int>> used;
  for (const auto& set : sets)
    used.push_back(resources_of(*set));
  std::set<int> reached;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (seen[i])
      reached.insert(used[i].begin(), used[i].end());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (seen[i] || !have_common(used[i], reached))
        continue;
      seen[i] = more = true;
      reached.insert(used[i].begin(), used[i].end());
    }
  }
  std::vector<CollectivePtr> kept;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (seen[i])
      kept.push_back(std::move(sets[i]));
  return kept;
}

} // namespace foretrain::experiments
