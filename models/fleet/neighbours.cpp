#include "models/fleet/neighbours.hpp"

#include <map>
#include <numeric>

namespace foretrain::models::fleet {

namespace {

// Of a resource that jobs share: below, each gets what it uses alone.
constexpr double kFull = 0.98;

// Sets that are joined one by one.
class Sets {
public:
  explicit Sets(std::size_t count) : parents_(count)
  {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t i)
  {
    while (parents_[i] != i)
      i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parents_[of(b)] = of(a); }

private:
  std::vector<std::size_t> parents_;
};

} // namespace

std::vector<Meeting> meetings(std::span<const Placed> jobs,
                              std::span<const std::vector<SharedUse>> uses, int nodes)
{
  Sets sets(jobs.size());
  std::vector<std::size_t> first_on(static_cast<std::size_t>(nodes), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (const Slice& slice : *jobs[i].gpus) {
      std::size_t& first = first_on[static_cast<std::size_t>(slice.node)];
      if (first == jobs.size())
        first = i;
      else
        sets.join(first, i);
    }
  std::map<std::uint32_t, std::pair<double, std::vector<std::size_t>>> users;
  for (std::size_t i = 0; i < uses.size(); ++i)
    for (const SharedUse& use : uses[i]) {
      users[use.resource].first += use.share;
      users[use.resource].second.push_back(i);
    }
  std::vector<std::size_t> scarce; // for these
  for (const auto& [resource, used] : users)
    if (used.first > kFull) {
      scarce.insert(scarce.end(), used.second.begin(), used.second.end());
      for (const std::size_t i : used.second)
        sets.join(used.second.front(), i);
    }
  std::map<std::size_t, Meeting> by_root;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    by_root[sets.of(i)].jobs.push_back(i);
  for (const std::size_t i : scarce)
    by_root[sets.of(i)].scarce = true;
  std::vector<Meeting> found;
  found.reserve(by_root.size());
  for (auto& [root, meeting] : by_root)
    found.push_back(std::move(meeting));
  return found;
}

} // namespace foretrain::models::fleet
