#include "models/training/bucket_copies.hpp"

#include <utility>

namespace foretrain::models {

ComputeProfile with_bucket_copies(ComputeProfile profile, const Network& network,
                                  double bytes_per_element, const sim::Roofline& memory,
                                  const std::optional<HostLaunches>& launches)
{
  if (network.measured.has_value())
    return profile;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (!layer.trained)
      continue;
    Seconds kernels;
    for (const std::int64_t elements : layer.gradient_tensors)
      kernels += memory({Flops(0), Bytes(2 * bytes_per_element * static_cast<double>(elements))});
    const auto copies = static_cast<double>(layer.gradient_tensors.size());
    const Seconds host = launches ? launches->time(0, copies) : Seconds(0);
    LayerTime& time = profile.layers[i];
    time.backward += kernels;
    time.backward_kernels += copies;
    time.backward_host += host;
    profile.optimizer += kernels;
    profile.optimizer_host += host;
  }
  return behind_host(std::move(profile));
}

} // namespace foretrain::models
