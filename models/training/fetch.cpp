#include "models/training/fetch.hpp"

#include "sim/engine/random.hpp"

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

std::vector<std::size_t> fetched_in(FetchOrder order, std::size_t buckets)
{
  std::vector<std::size_t> sequence;
  for (std::size_t b = buckets; b-- > 0;)
    sequence.push_back(b);
  if (order == FetchOrder::any) {
    sim::RandomStream random(1, "fetch order");
    random.shuffle(sequence);
  }
  return sequence;
}

Seconds exposed_fetch(const std::vector<Bucket>& buckets, const ComputeProfile& profile,
                      BytesPerSecond rate, FetchOrder order)
{
  const std::vector<Seconds> points = needed_at(buckets, profile);
  Seconds arrived;
  Seconds late; // how far the pass is behind one that waits for nothing
  for (const std::size_t b : fetched_in(order, buckets.size())) {
    arrived += buckets[b].size / rate;
    late = std::max(late, arrived - points[b]);
  }
  return late;
}

} // namespace foretrain::models
