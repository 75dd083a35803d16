#include "models/training/measured.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// Forward stretch i lies on this layer: there may be more of them than layers.
std::size_t layer_of(std::size_t i, std::size_t layers)
{
  return std::min(i, layers - 1);
}

} // namespace

StretchTime stretch_time(const MeasuredStretch& s, double scale, double batch,
                         const DeviceRatios& ratios, Seconds launch)
{
  const Seconds kernels = scale * batch * (ratios.product * s.product + ratios.memory * s.memory);
  if (!s.host_bound)
    return {kernels, kernels + s.idle};
  return {kernels, std::max(kernels, s.product + s.memory + s.idle + s.kernels * launch)};
}

ComputeProfile measured_profile(const MeasuredSpec& measured, int batch, const DeviceRatios& ratios,
                                Seconds launch)
{
  const double share =
      measured.batch ? static_cast<double>(batch) / static_cast<double>(*measured.batch) : 1.0;
  ComputeProfile profile;
  profile.layers.resize(measured.backward.size());
  const auto time_of = [&](const MeasuredStretch& s, double batch_share) {
    return stretch_time(s, measured.scale, batch_share, ratios, launch);
  };
  for (std::size_t i = 0; i < measured.backward.size(); ++i) {
    const StretchTime time = time_of(measured.backward[i], share);
    LayerTime& layer = profile.layers[measured.backward.size() - 1 - i];
    layer.backward = time.all;
    layer.backward_idle = time.all - time.kernels;
  }
  for (std::size_t i = 0; i < measured.forward.size(); ++i) {
    const StretchTime time = time_of(measured.forward[i], share);
    LayerTime& layer = profile.layers[layer_of(i, profile.layers.size())];
    layer.forward += time.all;
    layer.forward_idle += time.all - time.kernels;
  }
  const StretchTime optimizer = time_of(measured.optimizer, 1);
  profile.optimizer = optimizer.all;
  profile.optimizer_idle = optimizer.all - optimizer.kernels;
  return profile;
}

} // namespace foretrain::models
