// What one training step costs one GPU, layer by layer.
#pragma once

#include "models/networks/network.hpp"
#include "models/training/device.hpp"
#include "models/training/layer_times.hpp"

namespace foretrain::models {

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
