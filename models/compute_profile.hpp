// What one training step costs one GPU, layer by layer.
#pragma once

#include "models/framework.hpp"
#include "models/network.hpp"
#include "sim/cost/roofline.hpp"

#include <vector>

namespace foretrain::models {

struct Device {
  sim::Roofline dense;            // convolutions and matrix products, in the job's precision
  sim::Roofline ordinary;         // everything else: arithmetic in single precision
  int bytes_per_element = 4;      // activations and weights as the kernels read them
  bool master_weights = false;    // single-precision weights beside them
  bool minimal_filtering = true;  // libraries use it in single precision, not on tensor cores
  bool fused_elementwise = false; // activations and additions ride along with their neighbours
  KernelSpec kernels;
};

struct LayerTime {
  Seconds forward;
  Seconds backward;
};

struct ComputeProfile {
  std::vector<LayerTime> layers; // in forward order
  Seconds optimizer;
  Seconds forward() const;
  Seconds backward() const;
  Seconds total() const { return forward() + backward() + optimizer; }
  /// The same profile with every kernel `factor` times as long.
  ComputeProfile scaled(double factor) const;
};

/// `batch` samples per step. Backward of a GEMM-like layer is two products of the size of the
/// forward one (gradients of input and of weights), one in the first layer, whose input needs none.
ComputeProfile compute_profile(const Network& network, int batch, const Device& device);

/// Bytes of weights, gradients, optimizer state and stored activations on one GPU.
Bytes training_memory(const Network& network, int batch, const Device& device);

} // namespace foretrain::models
