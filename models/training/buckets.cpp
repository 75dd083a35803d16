#include "models/training/buckets.hpp"

#include <cmath>

namespace foretrain::models {

namespace {

struct Gradient {
  Bytes size;
  Seconds ready;    // from the beginning of backward
  Seconds launched; // from the step's start
  int layer;
};

std::vector<Gradient> gradients_in_order(const Network& network, const ComputeProfile& profile,
                                         const Framework& framework, int bytes_per_gradient)
{
  std::vector<Gradient> gradients;
  Seconds ready;
  // The host launches a kernel of each layer forward, then those of backward; never behind the GPU.
  auto kernels = static_cast<double>(network.layers.size());
  for (std::size_t i = network.layers.size(); i-- > 0;) {
    ready += profile.layers[i].backward;
    kernels += profile.layers[i].backward_kernels;
    const Seconds launched =
        std::min(kernels * framework.launch_interval, profile.forward() + ready);
    const auto& tensors = network.layers[i].gradient_tensors;
    for (std::size_t t = tensors.size(); t-- > 0;)
      gradients.push_back({Bytes(static_cast<double>(tensors[t]) * bytes_per_gradient), ready,
                           launched, static_cast<int>(i)});
  }
  return gradients;
}

void put(Bucket& bucket, const Gradient& gradient)
{
  bucket.size += gradient.size;
  bucket.tensors += 1;
  bucket.ready = gradient.ready;
  bucket.launched = gradient.launched;
  bucket.last_layer = gradient.layer;
}

// What Horovod's thread fuses at each of its cycles. Cycles count from the step's start.
std::vector<Bucket> buckets_of_launched(const std::vector<Gradient>& gradients,
                                        const Framework& framework, Seconds forward)
{
  const bool single = framework.fusion_threshold.value() == 0;
  std::vector<Bucket> buckets;
  Seconds free; // the thread waits for data until then
  for (std::size_t i = 0; i < gradients.size();) {
    const Seconds launched = gradients[i].launched;
    const Seconds asked =
        launched <= free ? free
                         : std::ceil(launched / framework.fusion_cycle) * framework.fusion_cycle;
    const std::size_t first = i;
    for (; i < gradients.size() && (i == first || gradients[i].launched <= asked); ++i) {
      if (i == first || single ||
          buckets.back().size + gradients[i].size > framework.fusion_threshold) {
        buckets.emplace_back();
        buckets.back().agreed_with_previous = i > first;
      }
      put(buckets.back(), gradients[i]);
    }
    free = std::max(asked, forward + gradients[i - 1].ready);
  }
  return buckets;
}

// As many tensors in each; the first groups, in the order of parameters, hold one more where they
// do not divide (numpy's array_split, by which horovod.mxnet makes them).
std::vector<Bucket> buckets_of_groups(const std::vector<Gradient>& gradients, int groups)
{
  std::vector<Bucket> buckets;
  const std::size_t tensors = gradients.size();
  const auto used = std::min(static_cast<std::size_t>(groups), tensors);
  for (std::size_t group = used, next = 0; group-- > 0;) {
    buckets.emplace_back();
    const std::size_t size = tensors / used + (group < tensors % used ? 1 : 0);
    for (std::size_t i = 0; i < size; ++i)
      put(buckets.back(), gradients[next++]);
  }
  return buckets;
}

} // namespace

std::vector<Bucket> plan_buckets(const Network& network, const ComputeProfile& profile,
                                 const Framework& framework, int bytes_per_gradient)
{
  const std::vector<Gradient> gradients =
      gradients_in_order(network, profile, framework, bytes_per_gradient);
  if (framework.gradient_groups > 0)
    return buckets_of_groups(gradients, framework.gradient_groups);
  if (agrees_ahead(framework))
    return buckets_of_launched(gradients, framework, profile.forward());
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
  for (const Gradient& gradient : gradients) {
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
