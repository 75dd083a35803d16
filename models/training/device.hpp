// What a step's kernels run on, as a job's framework uses it.
#pragma once

#include "models/training/autocast.hpp"
#include "models/training/framework.hpp"
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
  int bytes_per_element = 4;          // activations and weights as the kernels read them
  bool tensor_cores = false;          // products run on them: they want channels last
  bool master_weights = false;        // single-precision weights beside them
  bool minimal_filtering = true;      // libraries use it in single precision, not on tensor cores
  bool fused_elementwise = false;     // activations and additions ride along with their neighbours
  Autocast autocast = Autocast::none; // of the framework, in the job's precision
  KernelSpec kernels;
  Seconds operation_gap;                     // of the framework
  std::optional<HostLaunches> launches;      // of the framework
  int ranks = 1;                             // that add up the gradients of a training step
  int nodes = 1;                             // of as many of them each, one after the other
  std::optional<TablePlacement> tables;      // of the framework
  std::optional<FrequentRows> frequent_rows; // the same
};

/// Of activations and weights.
inline Bytes moved(double elements, const Device& device)
{
  return Bytes(elements * device.bytes_per_element);
}

} // namespace foretrain::models
