#include "models/fetch.hpp"

#include <algorithm>

namespace foretrain::models {

std::vector<Seconds> needed_at(const std::vector<Bucket>& buckets, const ComputeProfile& profile)
{
  std::vector<Seconds> before(profile.layers.size() + 1);
  for (std::size_t i = 0; i < profile.layers.size(); ++i)
    before[i + 1] = before[i] + profile.layers[i].forward;
  std::vector<Seconds> points;
  for (const Bucket& bucket : buckets)
    points.push_back(before[static_cast<std::size_t>(bucket.last_layer)]);
  return points;
}

Seconds exposed_fetch(const std::vector<Bucket>& buckets, const ComputeProfile& profile,
                      BytesPerSecond rate)
{
  const std::vector<Seconds> points = needed_at(buckets, profile);
  Seconds arrived;
  Seconds late; // how far the pass is behind one that waits for nothing
  for (std::size_t b = buckets.size(); b-- > 0;) {
    arrived += buckets[b].size / rate;
    late = std::max(late, arrived - points[b]);
  }
  return late;
}

} // namespace foretrain::models
