#include "models/limits.hpp"

#include <algorithm>

namespace foretrain::models {

void add_limits(std::vector<sim::LimitedBy>& sums, const std::vector<sim::LimitedBy>& limits)
{
  for (const sim::LimitedBy& limit : limits) {
    const auto known = std::find_if(sums.begin(), sums.end(), [&](const sim::LimitedBy& sum) {
      return sum.resource == limit.resource;
    });
    if (known == sums.end())
      sums.push_back(limit);
    else
      known->time += limit.time;
  }
}

std::vector<sim::LimitedBy> longest_first(std::vector<sim::LimitedBy> sums)
{
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return sums;
}

} // namespace foretrain::models
