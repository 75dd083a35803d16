#include "models/training/buckets.hpp"

#include <cmath>

namespace foretrain::models {

namespace {

struct Gradient {
  Bytes size;
  Seconds ready;
  int layer;
};

std::vector<Gradient> gradients_in_order(const Network& network, const ComputeProfile& profile,
                                         int bytes_per_gradient)
{
  std::vector<Gradient> gradients;
  Seconds ready;
  for (std::size_t i = network.layers.size(); i-- > 0;) {
    ready += profile.layers[i].backward;
    const auto& tensors = network.layers[i].gradient_tensors;
    for (std::size_t t = tensors.size(); t-- > 0;)
      gradients.push_back({Bytes(static_cast<double>(tensors[t]) * bytes_per_gradient), ready,
                           static_cast<int>(i)});
  }
  return gradients;
}

void put(Bucket& bucket, const Gradient& gradient)
{
  bucket.size += gradient.size;
  bucket.tensors += 1;
  bucket.ready = gradient.ready;
  bucket.last_layer = gradient.layer;
}

} // namespace

std::vector<Bucket> plan_buckets(const Network& network, const ComputeProfile& profile,
                                 const Framework& framework, int bytes_per_gradient)
{
  const bool single =
      framework.overlap == Overlap::per_tensor || framework.fusion_threshold.value() == 0;
  const bool by_cycle = framework.bucket_order == BucketOrder::ready &&
                        framework.fusion_cycle.value() > 0 && framework.overlap == Overlap::buckets;
  // The step's forward has passed when backward begins: cycles count from the step's start.
  const Seconds offset = profile.forward();
  const auto cycle_of = [&](Seconds ready) {
    return std::ceil((offset + ready) / framework.fusion_cycle);
  };
  std::vector<Bucket> buckets;
  double cycle = -1;
  for (const Gradient& gradient : gradients_in_order(network, profile, bytes_per_gradient)) {
    const Bytes held = buckets.empty() ? Bytes(0) : buckets.back().size;
    const Bytes limit = buckets.size() == 1 && framework.first_bucket.value() > 0
                            ? framework.first_bucket
                            : framework.fusion_threshold;
    const bool full = framework.bucket_fill == BucketFill::at_least ? held >= limit
                                                                    : held + gradient.size > limit;
    const bool later = by_cycle && cycle_of(gradient.ready) > cycle;
    if (buckets.empty() || single || full || later) {
      buckets.emplace_back();
      cycle = by_cycle ? cycle_of(gradient.ready) : 0;
    }
    put(buckets.back(), gradient);
  }
  return buckets;
}

} // namespace foretrain::models
