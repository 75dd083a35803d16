#include "models/compute_profile.hpp"

namespace foretrain::models {

namespace {

bool gemm_like(const Layer& layer)
{
  return layer.gemm.count > 0;
}

// Passes over the layer's input and output. Normalisation in training reads its input once for the
// statistics and once to normalise; backward reads input and incoming gradient for the sums and
// again for the result. Other layers read and write once, backward reads gradient and saved output.
struct Passes {
  double forward_in = 1, forward_out = 1;
  double backward_in = 1, backward_out = 1;
};

Passes passes_of(LayerKind kind)
{
  switch (kind) {
  case LayerKind::norm:
    return {2, 1, 3, 2};
  case LayerKind::elementwise:
    return {1, 1, 1, 2};
  case LayerKind::pool:
    return {1, 1, 2, 2};
  case LayerKind::conv:
  case LayerKind::linear:
  case LayerKind::attention:
  case LayerKind::embedding:
  case LayerKind::copy:
    return {1, 1, 1, 1};
  }
  return {};
}

Bytes moved(double elements, const Device& device)
{
  return Bytes(elements * device.bytes_per_element);
}

} // namespace

Seconds ComputeProfile::forward() const
{
  Seconds sum;
  for (const LayerTime& layer : layers)
    sum += layer.forward;
  return sum;
}

Seconds ComputeProfile::backward() const
{
  Seconds sum;
  for (const LayerTime& layer : layers)
    sum += layer.backward;
  return sum;
}

ComputeProfile ComputeProfile::scaled(double factor) const
{
  ComputeProfile result = *this;
  for (LayerTime& layer : result.layers) {
    layer.forward *= factor;
    layer.backward *= factor;
  }
  result.optimizer *= factor;
  return result;
}

ComputeProfile compute_profile(const Network& network, int batch, const Device& device)
{
  ComputeProfile profile;
  bool first = true; // no gradient of the network's own input is needed
  for (const Layer& layer : network.layers) {
    const sim::Roofline& rate = gemm_like(layer) ? device.dense : device.ordinary;
    const Passes passes = passes_of(layer.kind);
    const double in = static_cast<double>(layer.input_elements) * batch;
    const double out = static_cast<double>(layer.output_elements) * batch;
    const auto weights = static_cast<double>(layer.parameters);
    const double saved = device.minimal_filtering ? layer.minimal_filtering : 1.0;
    const Flops work = static_cast<double>(batch) * layer.forward_flops / saved;
    if (device.fused_elementwise && layer.kind == LayerKind::elementwise) {
      profile.layers.emplace_back();
      continue;
    }
    LayerTime time;
    time.forward =
        rate({work, moved(passes.forward_in * in + passes.forward_out * out + weights, device)});
    if (gemm_like(layer)) {
      const sim::Kernel product{work, moved(in + out + weights, device)};
      time.backward = (first ? 1.0 : 2.0) * rate(product);
      first = false;
    } else {
      time.backward = rate(
          {work, moved(passes.backward_in * in + passes.backward_out * out + weights, device)});
    }
    profile.layers.push_back(time);
  }
  // SGD with momentum reads weight, gradient and momentum and writes weight and momentum, all in
  // single precision; with masters it also writes the working copy. Frameworks launch few kernels.
  const auto parameters = static_cast<double>(totals(network).parameters);
  const double bytes =
      parameters * (5 * 4 + (device.master_weights ? device.bytes_per_element : 0));
  profile.optimizer = device.ordinary({Flops(4 * parameters), Bytes(bytes)});
  return profile;
}

Bytes training_memory(const Network& network, int batch, const Device& device)
{
  const NetworkTotals sum = totals(network);
  const auto parameters = static_cast<double>(sum.parameters);
  const double state =
      parameters * (3 * 4 + (device.master_weights ? device.bytes_per_element : 0));
  // Activations that overwrite their input (ReLU, dropout) need no memory of their own.
  double activations = 0;
  for (const Layer& layer : network.layers)
    if (layer.kind != LayerKind::elementwise)
      activations += static_cast<double>(layer.output_elements);
  return Bytes(state) + moved(activations * batch, device);
}

} // namespace foretrain::models
