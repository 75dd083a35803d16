// What one training step costs one GPU, layer by layer.
#pragma once

#include "models/networks/network.hpp"
#include "models/training/framework.hpp"
#include "models/training/layer_times.hpp"
#include "models/training/optimizer.hpp"
#include "sim/cost/products.hpp"
#include "sim/cost/roofline.hpp"

#include <optional>

namespace foretrain::models {

struct Device {
  sim::Roofline dense; // convolutions and matrix products, in the job's precision
  /// Their arithmetic by tiles, where they have any (GPUs); else dense.peak says it.
  std::optional<sim::ProductCurve> tiles;
  /// The same of products that are no convolutions; absent: as convolutions.
  std::optional<sim::ProductCurve> products;
  double clock = 1;        // of these, beside that of the curve's measurements
  FlopsPerSecond direct{}; // of convolution kernels that work without tiles
  sim::Roofline ordinary;  // everything else: arithmetic in single precision
  Optimizer optimizer;
  OptimizerStyle optimizer_style = OptimizerStyle::fused;
  int bytes_per_element = 4;      // activations and weights as the kernels read them
  bool tensor_cores = false;      // products run on them: they want channels last
  bool master_weights = false;    // single-precision weights beside them
  bool minimal_filtering = true;  // libraries use it in single precision, not on tensor cores
  bool fused_elementwise = false; // activations and additions ride along with their neighbours
  KernelSpec kernels;
  Seconds operation_gap;                     // of the framework
  std::optional<HostLaunches> launches;      // of the framework
  int ranks = 1;                             // that add up the gradients of a training step
  int nodes = 1;                             // of as many of them each, one after the other
  std::optional<TablePlacement> tables;      // of the framework
  std::optional<FrequentRows> frequent_rows; // the same
};

/// Of a layer that looks up, by the plan of the framework; none without one.
std::optional<TableShare> share_of(const Layer& layer, const Device& device);

/// `batch` samples per step. Backward of a GEMM-like layer is two products of the size of the
/// forward one (gradients of input and of weights), one in the first layer, whose input needs none.
ComputeProfile compute_profile(const Network& network, int batch, const Device& device);

/// The forward pass alone, as inference runs it: normalisation is folded into the layer before it,
/// activations ride along, nothing is stored.
ComputeProfile inference_profile(const Network& network, int batch, const Device& device);

/// By how much backward kernels take longer while a collective holds `held` of the
/// multiprocessors: factors for products and for others, and an addition to each kernel.
double slowed_beside_collective(const ComputeProfile& profile, double held, double products,
                                double others, Seconds per_kernel);

/// Bytes of weights, gradients, optimizer state and stored activations on one GPU.
Bytes training_memory(const Network& network, int batch, const Device& device);

/// Bytes of weights and of the two largest neighbouring activations on one GPU.
Bytes inference_memory(const Network& network, int batch, const Device& device);

} // namespace foretrain::models
