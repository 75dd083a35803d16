// Between the two rooms: times of kernels from what a GPU's preset says.
#pragma once

#include "models/transformer/compute.hpp"
#include "platforms/parts.hpp"

#include <span>
#include <string>

namespace foretrain::experiments {

/// The rate of a precision, or nullptr where the GPU has none.
const platforms::PrecisionRate* precision_rate(const platforms::Gpu& gpu, sim::Precision precision);
/// The same of a file's "precision", which stands in `at`; `usable` are told where the GPU has no
/// rate. Throws ConfigError.
const platforms::PrecisionRate& checked_rate(const platforms::Gpu& gpu, sim::Precision precision,
                                             std::span<const sim::Precision> usable,
                                             const Value& at);
/// The GPU's precision of 16 bits: bfloat16 where it has it.
sim::Precision sixteen_bits_of(const platforms::Gpu& gpu);

/// Products in a precision that the GPU has, of layers and of a transformer. What was not measured
/// follows the data sheet with efficiencies in the middle of the GPUs that were; single precision
/// and TF32, of which nobody's are, follow convolutions (docs/calibration-data.md). `in_tables`:
/// with the conversions that the tables of fp8 hold; operators of a transformer have them apart.
sim::ProductCurve product_curve(const platforms::Gpu& gpu, sim::Precision precision,
                                bool in_tables = false);

/// The clock in long runs under the power limit, beside that of the curves' measurements.
double sustained_clock(const platforms::Gpu& gpu);

/// Whether the GPU computes products of a precision on tensor cores.
bool on_tensor_cores(const platforms::Gpu& gpu, sim::Precision precision);

/// Whether products have other curves than convolutions: of 16 bits and fewer on tensor cores.
bool has_product_kernels(const platforms::Gpu& gpu, sim::Precision precision);

/// What layers compute in. Without tensor cores, training in half precision stores halves and
/// computes in single precision: TensorFlow (cuda_dnn.cc, TF_FP16_CONV_USE_FP32_COMPUTE, on by
/// default), MXNet (convolution.cu, "pseudo-fp16") and PyTorch (cudnn/Conv.cpp) ask cuDNN for it.
/// Inference engines compute in half precision.
sim::Precision arithmetic_of(const platforms::Gpu& gpu, sim::Precision precision, bool training);

/// Products of a network's layers as libraries of convolutions do them; `efficiency` is the share
/// of the peak in whole waves of the largest tiles.
sim::ProductCurve layer_curve(const platforms::Gpu& gpu, sim::Precision precision,
                              double efficiency);

/// Rate of kernels that take so many instructions for each multiply-accumulate in single precision.
FlopsPerSecond direct_rate(const platforms::Gpu& gpu, double instructions);

/// Exponentials per second: 16 a cycle of each multiprocessor, which issues 128 instructions (CUDA
/// C++ Programming Guide, throughput of native arithmetic instructions; CDNA: a quarter of 64).
double function_rate(const platforms::Gpu& gpu);

/// Attention in 16 bits, likewise; `in_tables`: with what the measured kernels do beside it.
sim::AttentionCurve attention_curve(const platforms::Gpu& gpu, sim::Precision precision,
                                    bool in_tables = false);

} // namespace foretrain::experiments
