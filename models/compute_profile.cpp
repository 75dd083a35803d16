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

// The products of one GEMM-like layer over a batch: elements of its operands and its result.
struct Product {
  const Layer& layer;
  const Device& device;
  double all_weights; // of the network
  double batch;
  double left, weights, result; // elements
  double calls = 1;

  Product(const Layer& l, int samples, const Device& d, double parameters)
      : layer(l), device(d), all_weights(parameters), batch(samples),
        left(batch * static_cast<double>(l.input_elements)),
        weights(static_cast<double>(l.parameters)),
        result(batch * static_cast<double>(l.output_elements))
  {
    if (patches() > 0)
      left = patches();
    if (layer.kind == LayerKind::attention && !device.kernels.batched_products)
      calls = batch * static_cast<double>(layer.gemm.count);
  }

  // Elements of the patch matrix; 0 without one.
  double patches() const
  {
    if (layer.kind != LayerKind::conv || !device.kernels.explicit_patches)
      return 0;
    const Gemm& gemm = layer.gemm;
    return batch * static_cast<double>(gemm.count) * static_cast<double>(gemm.m * gemm.k);
  }
  double runs() const { return batch * static_cast<double>(layer.gemm.m * layer.window); }
  double bias_passes(double passes) const
  {
    return device.kernels.fused_bias || layer.gradient_tensors.size() < 2 ? 0 : passes;
  }

  Seconds moving(double passes, double elements) const
  {
    return device.dense.moving(moved(passes * elements, device), moved(elements / calls, device));
  }
  // A weight is next used when all others, their gradients and momenta have been: a step later.
  Seconds weights_moving(double passes) const
  {
    return device.dense.moving(moved(passes * weights, device), moved(3 * all_weights, device));
  }
  Seconds time(Seconds moving) const
  {
    const bool filtered = device.minimal_filtering && patches() == 0;
    const Flops work = batch * layer.forward_flops / (filtered ? layer.minimal_filtering : 1.0);
    return calls * device.dense(work / calls, moving / calls);
  }
  Seconds patch_pass(double image_passes) const
  {
    if (patches() == 0)
      return Seconds(0);
    const double image = batch * static_cast<double>(layer.input_elements);
    return runs() * device.kernels.patch_run +
           device.ordinary({Flops(0), moved(patches() + image_passes * image, device)});
  }

  Seconds forward() const
  {
    const auto& k = device.kernels;
    return patch_pass(1) + time(moving(k.operand_passes, left) + weights_moving(k.operand_passes) +
                                moving(k.result_passes + bias_passes(2), result));
  }
  Seconds weight_gradient() const
  {
    const auto& k = device.kernels;
    return patch_pass(1) +
           time(moving(k.operand_passes, left) + moving(k.operand_passes + bias_passes(1), result) +
                weights_moving(k.result_passes));
  }
  // The gradient of the patches is added to that of the image.
  Seconds input_gradient() const
  {
    const auto& k = device.kernels;
    return patch_pass(2) + time(moving(k.operand_passes, result) +
                                weights_moving(k.operand_passes) + moving(k.result_passes, left));
  }
};

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
  const auto parameters = static_cast<double>(totals(network).parameters);
  bool first = true; // no gradient of the network's own input is needed
  for (const Layer& layer : network.layers) {
    const Passes passes = passes_of(layer.kind);
    const double in = static_cast<double>(layer.input_elements) * batch;
    const double out = static_cast<double>(layer.output_elements) * batch;
    const auto weights = static_cast<double>(layer.parameters);
    if (device.fused_elementwise && layer.kind == LayerKind::elementwise) {
      profile.layers.emplace_back();
      continue;
    }
    LayerTime time;
    if (gemm_like(layer)) {
      const Product product(layer, batch, device, parameters);
      time.forward = product.forward();
      time.backward = product.weight_gradient();
      if (!first)
        time.backward += product.input_gradient();
      first = false;
    } else {
      const Flops work = static_cast<double>(batch) * layer.forward_flops;
      const double functions = batch * layer.functions;
      time.forward = device.ordinary(
          {work, moved(passes.forward_in * in + passes.forward_out * out + weights, device),
           functions});
      time.backward = device.ordinary(
          {work, moved(passes.backward_in * in + passes.backward_out * out + weights, device),
           functions});
    }
    profile.layers.push_back(time);
  }
  if (device.kernels.copies_batch && !profile.layers.empty())
    profile.layers.front().forward += device.ordinary(
        {Flops(0), moved(2.0 * batch * static_cast<double>(network.input.elements()), device)});
  // SGD with momentum reads weight, gradient and momentum and writes weight and momentum, all in
  // single precision; with masters it also writes the working copy. Frameworks launch few kernels.
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
