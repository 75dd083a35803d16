#include "models/training/compute_profile.hpp"

#include "models/training/composed_operations.hpp"
#include "models/training/layer_casts.hpp"
#include "models/training/layer_passes.hpp"
#include "models/training/table_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace foretrain::models {

namespace {

constexpr Bytes kLine{64}; // of a CPU's cache
// What a rank sends of a reduction is read and written, and so is what it receives.
constexpr double kCopies = 4;

bool gemm_like(const Layer& layer)
{
  return layer.gemm.count > 0;
}

// Elements that pass a CPU's cache for the gradients of `parameters` to be added up in a ring.
double reduced(double parameters, const Device& device)
{
  return kCopies * 2 * (device.ranks - 1) / device.ranks * parameters;
}

// The products of one GEMM-like layer over a batch: elements of its operands and its result.
struct Product {
  const Layer& layer;
  const Device& device;
  double between; // two uses of a weight: elements that pass the cache
  double batch;
  double left, weights, result; // elements
  double calls = 1;

  Product(const Layer& l, int samples, const Device& d, double elements_between)
      : layer(l), device(d), between(elements_between), batch(samples),
        left(batch * static_cast<double>(l.input_elements)),
        weights(static_cast<double>(l.parameters + l.borrowed_weights)),
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
  // A weight is next used when all others, their gradients and momenta have been, and what other
  // ranks send: a step later.
  Seconds weights_moving(double passes) const
  {
    return device.dense.moving(moved(passes * weights, device), moved(between, device));
  }
  // As an operand it is read piece by piece.
  Seconds weights_reading() const
  {
    const double away = 1 - device.dense.found(moved(between, device));
    return weights_moving(device.kernels.operand_passes) +
           away * (moved(weights, device) / kLine) * device.kernels.weight_line;
  }
  bool filtered() const { return device.minimal_filtering && patches() == 0; }

  // The shapes of the three products. Forward: positions of the output x their features x the
  // window; the gradient of the input the other way round; that of the weights sums over positions.
  sim::Product forward_shape() const
  {
    const Gemm& gemm = layer.gemm;
    sim::Product shape{.m = static_cast<double>(gemm.m),
                       .n = static_cast<double>(gemm.n),
                       .k = static_cast<double>(gemm.k),
                       .count = static_cast<double>(gemm.count)};
    (layer.kind == LayerKind::attention ? shape.count : shape.m) *= batch;
    return shape;
  }
  sim::Product weight_gradient_shape() const
  {
    const sim::Product forward = forward_shape();
    return {.m = forward.k, .n = forward.n, .k = forward.m, .count = forward.count};
  }
  // Strided convolutions have fewer outputs than inputs: the sum is as short as the work asks for.
  sim::Product input_gradient_shape() const
  {
    const sim::Product forward = forward_shape();
    sim::Product shape{
        .m = forward.m, .n = forward.k / window(), .k = forward.n, .count = forward.count};
    if (layer.kind == LayerKind::conv && layer.input_elements > 0)
      shape.m = batch * static_cast<double>(layer.input_elements) / (shape.n * shape.count);
    shape.k = forward.m * forward.n * forward.k / (shape.m * shape.n);
    return shape;
  }
  double window() const { return std::max(1.0, static_cast<double>(layer.window)); }

  // Minimal filtering is (r + 1)^2 products over a quarter of the positions, of one window each.
  Seconds filtered_arithmetic(const sim::Product& shape, bool weight_gradient) const
  {
    sim::Product tile = shape;
    tile.count *= 4 * window() / layer.minimal_filtering;
    (weight_gradient ? tile.m : tile.k) /= window();
    (weight_gradient ? tile.k : tile.m) /= 4;
    return Seconds(device.tiles->arithmetic(tile));
  }

  // Of kernels that cut products into tiles, on tensor cores where there are any, and of others
  // that do the same without.
  struct Arithmetic {
    Seconds tiled;
    std::optional<Seconds> direct{};
  };

  Arithmetic arithmetic(const sim::Product& shape, bool weight_gradient = false) const
  {
    if (!device.tiles) {
      const Flops work = batch * layer.forward_flops / (filtered() ? layer.minimal_filtering : 1.0);
      return {work / (device.dense.dense * device.dense.peak)};
    }
    if (layer.kind != LayerKind::conv && device.products)
      return {Seconds(device.products->arithmetic(shape, device.clock))};
    if (layer.kind == LayerKind::conv && shape.count > 1)
      return grouped_arithmetic(shape, weight_gradient);
    return {convolving(shape, weight_gradient)};
  }

  // By products, or by those of minimal filtering.
  Seconds convolving(const sim::Product& shape, bool weight_gradient) const
  {
    const Seconds direct(device.tiles->arithmetic(shape));
    return filtered() && layer.minimal_filtering > 1
               ? std::min(direct, filtered_arithmetic(shape, weight_gradient))
               : direct;
  }

  // Groups of a convolution have two kinds of kernels. One treats neighbouring groups as
  // a wider product, whose weights are zero off its diagonal blocks, so that it fills its tiles:
  // all of them together are the dense convolution, which none is slower than. The other reads its
  // windows as they are.
  Arithmetic grouped_arithmetic(const sim::Product& shape, bool weight_gradient) const
  {
    Seconds tiled(std::numeric_limits<double>::infinity());
    for (double together = 1;; together = std::min(2 * together, shape.count)) {
      sim::Product block = shape;
      block.count = std::ceil(shape.count / together);
      block.n *= together;
      (weight_gradient ? block.m : block.k) *= together;
      tiled = std::min(tiled, convolving(block, weight_gradient));
      if (together >= shape.count)
        break;
    }
    return {tiled, Flops(2 * shape.count * shape.m * shape.n * shape.k) / device.direct};
  }

  Seconds time(Seconds arithmetic, Seconds moving) const
  {
    return calls * device.dense.both(arithmetic / calls, moving / calls);
  }
  Seconds patch_pass(double image_passes) const
  {
    if (patches() == 0)
      return Seconds(0);
    const double image = batch * static_cast<double>(layer.input_elements);
    return runs() * device.kernels.patch_run +
           device.ordinary({Flops(0), moved(patches() + image_passes * image, device)});
  }

  // Tensor cores want channels last: what comes with channels first is converted, and back.
  Seconds converting(double elements) const
  {
    if (!device.tensor_cores || layer.kind != LayerKind::conv)
      return Seconds(0);
    return device.dense.moving(moved(device.kernels.tensor_core_layout * elements, device),
                               moved(elements, device));
  }

  // The quicker kernel and what goes with it; `image_passes` over the image beside the matrix of
  // patches.
  Seconds kernel(const Arithmetic& work, double image_passes, Seconds moving) const
  {
    Seconds quicker = converting(left + result) + time(work.tiled, moving);
    if (work.direct)
      quicker = std::min(quicker, time(*work.direct, moving));
    return patch_pass(image_passes) + quicker;
  }

  Seconds forward() const
  {
    const auto& k = device.kernels;
    return kernel(arithmetic(forward_shape()), 1,
                  moving(k.operand_passes, left) + weights_reading() +
                      moving(k.result_passes + bias_passes(2), result));
  }
  Seconds weight_gradient() const
  {
    const auto& k = device.kernels;
    return kernel(arithmetic(weight_gradient_shape(), true), 1,
                  moving(k.operand_passes, left) +
                      moving(k.operand_passes + bias_passes(1), result) +
                      weights_moving(k.result_passes));
  }
  // The gradient of the patches is added to that of the image.
  Seconds input_gradient() const
  {
    const auto& k = device.kernels;
    return kernel(arithmetic(input_gradient_shape()), 2,
                  moving(k.operand_passes, result) + weights_reading() +
                      moving(k.result_passes, left));
  }
};

// Kernels one after the other, as much work and traffic in each.
Seconds in_kernels(int kernels, double passes, double elements, const Layer& layer, int batch,
                   const Device& device)
{
  return kernels * device.ordinary({batch * layer.forward_flops / kernels,
                                    moved(passes * elements / kernels, device),
                                    batch * layer.functions / kernels});
}

// Of a linear layer's bias: a sum over the samples by a kernel of its own, unless the product that
// makes the weight's gradient makes it, or counts it already (no fused_bias).
Seconds bias_gradient(const Layer& layer, double out, const Device& device)
{
  if (layer.kind != LayerKind::linear || layer.gradient_tensors.size() < 2 ||
      device.kernels.activations_in_products || !device.kernels.fused_bias)
    return Seconds(0);
  return device.ordinary({Flops(out), moved(out, device)});
}

// Gradients of `elements` that were made of them more than once.
Seconds added_up(const AddedGradients& sum, double elements, const Device& device)
{
  const Bytes moving = moved(sum.passes * elements, device);
  return sum.kernels * device.ordinary.launch + device.ordinary.moving(moving, moving);
}

// An operation of the framework each way, its kernels, and those that convert a product's weight
// and its gradient.
void add_host_work(LayerTime& time, const Layer& layer, double forward_kernels,
                   const Device& device)
{
  if (!device.launches)
    return;
  const HostLaunches& host = *device.launches;
  const bool weight = time.product && layer.parameters + layer.borrowed_weights > 0;
  const double casts = weight ? host.casts_per_weight : 0;
  time.forward_host = host.time(1, forward_kernels + casts);
  if (time.backward_kernels > 0)
    time.backward_host = host.time(1, time.backward_kernels + casts);
}

} // namespace

ComputeProfile compute_profile(const Network& network, int batch, const Device& device)
{
  ComputeProfile profile;
  const auto parameters = static_cast<double>(totals(network).parameters);
  const double passing = reduced(parameters, device);
  LayerCasts casts(device);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const Passes passes = passes_of(network, i, device.kernels);
    const double in = static_cast<double>(layer.input_elements) * batch;
    const double out = static_cast<double>(layer.output_elements) * batch;
    const auto weights = static_cast<double>(layer.parameters + layer.borrowed_weights);
    const std::optional<ComposedOperation> composed =
        composed_operation(device.kernels.composed, device.fused_elementwise, layer.op);
    if ((device.fused_elementwise && !composed && rides_along(network, i, device.kernels)) ||
        (layer.kind == LayerKind::regroup && !device.kernels.batched_products)) {
      profile.layers.emplace_back();
      continue;
    }
    LayerTime time;
    double forward_kernels = passes.forward() ? 1 : 0;
    const Seconds conversion = casts.before(layer, composed, in);
    if (layer.kind == LayerKind::tables) {
      time = table_time(layer, batch, device);
    } else if (gemm_like(layer)) {
      const Product product(layer, batch, device, 3 * parameters + passing);
      time.forward = product.forward();
      time.backward = product.weight_gradient() + bias_gradient(layer, out, device);
      time.product = true;
      if (layer.input_gradient) {
        const AddedGradients sum =
            added_gradients(layer.summed_gradients, device.fused_elementwise);
        time.backward += product.input_gradient() + added_up(sum, in, device);
        time.backward_kernels = 2 + sum.kernels;
      }
    } else if (composed) {
      const double elements = casts.out() * out;
      forward_kernels = composed->forward_kernels;
      time.backward_kernels = composed->backward_kernels;
      time.forward =
          in_kernels(composed->forward_kernels, composed->forward, elements, layer, batch, device);
      time.backward = in_kernels(composed->backward_kernels, composed->backward, elements, layer,
                                 batch, device);
    } else {
      const Flops work = static_cast<double>(batch) * layer.forward_flops;
      const double functions = batch * layer.functions;
      const double read = casts.in() * in, written = casts.out() * out;
      if (passes.forward())
        time.forward = device.ordinary(
            {work, moved(passes.forward_in * read + passes.forward_out * written + weights, device),
             functions});
      time.backward = device.ordinary(
          {work, moved(passes.backward_in * read + passes.backward_out * written + weights, device),
           functions});
    }
    time.forward += device.operation_gap + conversion;
    time.backward += device.operation_gap + conversion;
    const bool weights_train = layer.parameters + layer.divided_parameters > 0;
    if (!layer.trained || (!layer.input_gradient && !weights_train)) {
      time.backward = Seconds(0);
      time.backward_kernels = 0;
    }
    add_host_work(time, layer, forward_kernels, device);
    profile.layers.push_back(time);
  }
  if (device.kernels.copies_batch && !profile.layers.empty())
    profile.layers.front().forward += device.ordinary(
        {Flops(0), moved(2.0 * batch * static_cast<double>(network.input.elements()), device)});
  const auto tensors = static_cast<double>(totals(network).gradient_tensors);
  const OptimizerCost update =
      optimizer_cost(device.optimizer, device.optimizer_style, parameters, tensors,
                     device.master_weights ? device.bytes_per_element : 0, device.ordinary,
                     moved(passing, device));
  profile.optimizer = update.kernels + tensors * device.operation_gap;
  profile.behind = {update.host, update.passes, device.ordinary.launch};
  profile.optimizer_launches = update.launches;
  if (const auto& host = device.launches)
    profile.optimizer_host =
        std::max(host->time(0, update.launches + tensors * host->checks_per_gradient), update.host);
  return behind_host(std::move(profile));
}

ComputeProfile inference_profile(const Network& network, int batch, const Device& device)
{
  ComputeProfile profile;
  const auto parameters = static_cast<double>(totals(network).parameters);
  for (const Layer& layer : network.layers) {
    LayerTime time;
    time.backward_kernels = 0;
    if (layer.kind == LayerKind::tables) {
      time.forward = device.operation_gap + table_time(layer, batch, device).forward;
    } else if (gemm_like(layer)) {
      time.product = true;
      time.forward = device.operation_gap + Product(layer, batch, device, 3 * parameters).forward();
    } else if (layer.kind != LayerKind::elementwise && layer.kind != LayerKind::norm &&
               layer.kind != LayerKind::regroup) {
      const double elements =
          batch * static_cast<double>(layer.input_elements + layer.output_elements);
      time.forward =
          device.operation_gap +
          device.ordinary({static_cast<double>(batch) * layer.forward_flops,
                           moved(elements + static_cast<double>(layer.parameters), device),
                           batch * layer.functions});
    }
    if (device.launches && time.forward.value() > 0)
      time.forward_host = device.launches->time(1, 1);
    profile.layers.push_back(time);
  }
  return behind_host(std::move(profile));
}

double slowed_beside_collective(const ComputeProfile& profile, double held, double products,
                                double others, Seconds per_kernel)
{
  const Seconds alone = profile.backward();
  if (alone.value() <= 0)
    return 1;
  Seconds beside;
  for (const LayerTime& layer : profile.layers)
    beside +=
        (layer.backward - layer.backward_idle) * (layer.product ? products : others) / (1 - held) +
        layer.backward_idle + layer.backward_kernels * per_kernel;
  return beside / alone;
}

Bytes training_memory(const Network& network, int batch, const Device& device)
{
  const NetworkTotals sum = totals(network);
  const auto parameters = static_cast<double>(sum.parameters);
  const double state = parameters * (2 * 4 + device.optimizer.state_bytes_per_parameter +
                                     (device.master_weights ? device.bytes_per_element : 0));
  // Activations that overwrite their input (ReLU) or come in place of it (softmax) need no memory
  // of their own, and what no backward pass reads is not kept. GELU and swish read what they were
  // given, as does the product behind them what they made; dropout keeps a mask of a byte, and
  // behind a softmax, which reads its own result, another one.
  double activations = 0;
  const Layer* before = nullptr;
  for (const Layer& layer : network.layers) {
    const auto elements = static_cast<double>(layer.output_elements);
    const bool keeps_both = layer.op == "gelu" || layer.op == "swish" ||
                            (layer.op == "dropout" && before && before->op == "softmax");
    if (layer.trained &&
        (keeps_both || (layer.kind != LayerKind::elementwise && layer.kind != LayerKind::regroup)))
      activations += elements;
    if (layer.trained && layer.op == "dropout")
      activations += elements / device.bytes_per_element;
    before = &layer;
  }
  const double tables = static_cast<double>(sum.divided_parameters) / device.ranks *
                        (4 + device.optimizer.state_bytes_per_parameter);
  return Bytes(state + tables) + moved(activations * batch, device);
}

Bytes inference_memory(const Network& network, int batch, const Device& device)
{
  double widest = 0;
  for (const Layer& layer : network.layers)
    widest = std::max(widest, static_cast<double>(layer.input_elements + layer.output_elements));
  const NetworkTotals sum = totals(network);
  return moved(static_cast<double>(sum.parameters) + widest * batch, device) +
         Bytes(4.0 * static_cast<double>(sum.divided_parameters));
}

} // namespace foretrain::models
