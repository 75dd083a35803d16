// Between the two rooms: times of kernels from what a GPU's preset says.
#pragma once

#include "models/transformer/compute.hpp"
#include "platforms/parts.hpp"

#include <string>

namespace foretrain::experiments {

/// Whether a precision stores two bytes.
bool sixteen_bits(const std::string& precision);
/// The rate of a precision (fp32, tf32, fp16, bf16, fp8, mxfp8 or int8), or nullptr.
const platforms::Precision* precision_rate(const platforms::Gpu& gpu, const std::string& name);

/// Products in a precision that the GPU has. What was not measured follows the data sheet with
/// efficiencies in the middle of the GPUs that were. `in_tables`: with the conversions that the
/// tables of fp8 hold; operators of a transformer have them apart.
sim::ProductCurve product_curve(const platforms::Gpu& gpu, const std::string& precision,
                                bool in_tables = false);

/// Whether the GPU computes products of a precision on tensor cores.
bool on_tensor_cores(const platforms::Gpu& gpu, const std::string& precision);

/// Products of a network's layers as libraries of convolutions do them; `efficiency` is the share
/// of the peak in whole waves of the largest tiles.
sim::ProductCurve layer_curve(const platforms::Gpu& gpu, const std::string& precision,
                              double efficiency);

/// Attention in 16 bits, likewise; `in_tables`: with what the measured kernels do beside it.
sim::AttentionCurve attention_curve(const platforms::Gpu& gpu, const std::string& precision,
                                    bool in_tables = false);

} // namespace foretrain::experiments
