#include "models/training/limits.hpp"

#include <algorithm>

namespace foretrain::models {

void add_limits(std::vector<sim::LimitedBy>& sums, const std::vector<sim::LimitedBy>& limits,
                int times)
{
  for (const sim::LimitedBy& limit : limits) {
    const auto known = std::find_if(sums.begin(), sums.end(), [&](const sim::LimitedBy& sum) {
      return sum.resource == limit.resource;
    });
    const Seconds time = times * limit.time;
    if (known == sums.end())
      sums.push_back({limit.resource, time});
    else
      known->time += time;
  }
}

std::vector<sim::LimitedBy> longest_first(std::vector<sim::LimitedBy> sums)
{
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return sums;
}

} // namespace foretrain::models
