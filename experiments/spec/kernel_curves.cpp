#include "experiments/spec/kernel_curves.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::experiments {

using sim::GpuVendor;
using sim::Precision;

namespace {

// Where nothing was measured: a middle of the GPUs that were.
platforms::ProductKernels usual_kernels(const platforms::PrecisionRate& rate)
{
  platforms::ProductKernels kernels;
  kernels.efficiency = std::clamp(rate.dense_efficiency, 0.8, 1.0);
  if (rate.product_efficiency > 0)
    kernels.efficiency = rate.product_efficiency;
  return kernels;
}

// As convolutions, with the efficiency that long runs of networks of layers fixed.
sim::ProductCurve plain_curve(const platforms::Gpu& gpu, Precision precision)
{
  const double efficiency = precision_rate(gpu, precision)->dense_efficiency;
  sim::ProductCurve curve = layer_curve(gpu, precision, efficiency / sustained_clock(gpu));
  curve.memory = gpu.memory_bandwidth.value();
  return curve;
}

// Whether its tensor cores multiply blocks of 32 values with a scale each (OCP's MX formats): from
// Blackwell on, and from AMD's CDNA 4 on (gfx950).
bool scales_blocks(const platforms::Gpu& gpu)
{
  return gpu.compute_capability >= (gpu.vendor == GpuVendor::amd ? 9.5 : 10);
}

} // namespace

const platforms::PrecisionRate* precision_rate(const platforms::Gpu& gpu, Precision precision)
{
  static const std::optional<platforms::PrecisionRate> none;
  const auto rate = [&]() -> const std::optional<platforms::PrecisionRate>& {
    switch (precision) {
    case Precision::fp32:
      return gpu.fp32;
    case Precision::tf32:
      return gpu.tf32;
    case Precision::fp16:
      return gpu.fp16;
    case Precision::bf16:
      return gpu.bf16;
    case Precision::fp8:
      return gpu.fp8;
    case Precision::mxfp8:
      return scales_blocks(gpu) ? gpu.fp8 : none;
    case Precision::mxfp4:
      return gpu.fp4;
    case Precision::nvfp4: // blocks of 16 values are NVIDIA's alone
      return gpu.vendor == GpuVendor::nvidia ? gpu.fp4 : none;
    case Precision::int8:
      return gpu.int8;
    }
    throw std::logic_error("a precision without a rate");
  };
  return rate() ? &*rate() : nullptr;
}

const platforms::PrecisionRate& checked_rate(const platforms::Gpu& gpu, Precision precision,
                                             std::span<const Precision> usable, const Value& at)
{
  if (const platforms::PrecisionRate* rate = precision_rate(gpu, precision))
    return *rate;
  std::string known;
  for (const Precision other : usable)
    if (precision_rate(gpu, other) != nullptr)
      known += (known.empty() ? "" : ", ") + word_of(other);
  at.fail_at("precision",
             fmt::format("is '{}', for which the {} has no rate", word_of(precision), gpu.name),
             "it has: " + known);
}

Precision sixteen_bits_of(const platforms::Gpu& gpu)
{
  return gpu.bf16 ? Precision::bf16 : Precision::fp16;
}

sim::ProductCurve product_curve(const platforms::Gpu& gpu, Precision precision, bool in_tables)
{
  const platforms::PrecisionRate& rate = *precision_rate(gpu, precision);
  const platforms::GpuKernels none;
  const platforms::GpuKernels& measured = gpu.kernels ? *gpu.kernels : none;
  const auto& table = is_narrow(precision) ? measured.fp8 : measured.half;
  if (!has_product_kernels(gpu, precision))
    return plain_curve(gpu, precision);
  const bool known = table && (!is_fp4(precision) || gpu.fp8);
  platforms::ProductKernels k = known ? *table : usual_kernels(rate);
  // No table of fp4 is known: a tile takes as long to begin and to end as one of fp8.
  if (known && is_fp4(precision))
    k.fill *= rate.peak / gpu.fp8->peak;
  sim::ProductCurve curve;
  curve.peak = rate.peak.value();
  curve.efficiency = k.efficiency;
  curve.fill = k.fill;
  curve.floor = k.floor.value();
  curve.memory = gpu.memory_bandwidth.value();
  curve.memory_efficiency = k.memory_efficiency;
  curve.whole_waves = k.whole_waves;
  curve.half_tile = k.half_tile;
  curve.quarter_tile = k.quarter_tile;
  curve.blend = k.blend;
  curve.quantise = in_tables ? k.quantise : 0;
  curve.quantise_floor = in_tables ? k.quantise_floor.value() : 0;
  curve.split_floor = k.split_floor.value();
  curve.processors = gpu.multiprocessors;
  return curve;
}

double sustained_clock(const platforms::Gpu& gpu)
{
  constexpr double kUsual = 0.92; // where none was measured
  return gpu.kernels ? gpu.kernels->sustained_clock : kUsual;
}

bool on_tensor_cores(const platforms::Gpu& gpu, Precision precision)
{
  if (precision == Precision::fp32)
    return false;
  if (gpu.vendor == GpuVendor::amd) // Instinct, from MI100 on
    return true;
  if (precision == Precision::int8)
    return gpu.compute_capability >= 7.2; // Volta's have half precision alone
  return gpu.compute_capability >= 7.0;
}

bool has_product_kernels(const platforms::Gpu& gpu, Precision precision)
{
  return (sixteen_bits(precision) || is_narrow(precision)) && on_tensor_cores(gpu, precision);
}

Precision arithmetic_of(const platforms::Gpu& gpu, Precision precision, bool training)
{
  const bool stored_only = training && sixteen_bits(precision) && !on_tensor_cores(gpu, precision);
  return stored_only && gpu.fp32 ? Precision::fp32 : precision;
}

sim::ProductCurve layer_curve(const platforms::Gpu& gpu, Precision precision, double efficiency)
{
  // One set for all GPUs and precisions, docs/calibration-data.md.
  sim::ProductCurve curve;
  curve.peak = precision_rate(gpu, precision)->peak.value();
  curve.efficiency = efficiency;
  curve.fill = 60;
  curve.whole_waves = 1;
  curve.half_tile = 0.5;
  curve.quarter_tile = 0.8;
  curve.splits = 32;
  curve.narrow_tile = 0.73; // cuDNN's volta_scudnn_128x32, sm80_xmma_fprop_..._tilesize256x32x32
  curve.tensor_cores = on_tensor_cores(gpu, precision);
  curve.processors = gpu.multiprocessors;
  return curve;
}

FlopsPerSecond direct_rate(const platforms::Gpu& gpu, double instructions)
{
  // A multiprocessor issues four instructions of 32 threads a cycle, from Maxwell on and but for
  // GP100's two; the peak counts its multiply-accumulates, of which Volta, Turing and GA100 finish
  // half as many (CUDA C++ Programming Guide, throughput of native arithmetic instructions). One of
  // CDNA issues for 64 threads a cycle, and its peak counts twice as many, by instructions that
  // do two at once (CDNA 3 white paper: 256 FLOP a cycle).
  const double capability = gpu.compute_capability;
  const double issued = gpu.vendor == GpuVendor::amd           ? 0.5
                        : capability >= 7 && capability < 8.55 ? 2
                                                               : 1;
  const FlopsPerSecond peak = gpu.fp32 ? gpu.fp32->peak : FlopsPerSecond(0);
  return issued / instructions * peak;
}

double function_rate(const platforms::Gpu& gpu)
{
  const double instructions = direct_rate(gpu, 1).value() / 2; // of multiply-accumulates
  return instructions / (gpu.vendor == GpuVendor::amd ? 4 : 8);
}

sim::AttentionCurve attention_curve(const platforms::Gpu& gpu, Precision precision, bool in_tables)
{
  platforms::AttentionKernels k;
  if (gpu.compute_capability < 8) // FlashAttention 1 on Volta and Turing
    k.efficiency = 0.35;
  if (gpu.kernels && gpu.kernels->attention)
    k = *gpu.kernels->attention;
  const Precision wide = is_narrow(precision) ? sixteen_bits_of(gpu) : precision;
  const platforms::PrecisionRate* rate = precision_rate(gpu, wide);
  if (rate == nullptr)
    rate = precision_rate(gpu, precision);
  sim::AttentionCurve curve;
  curve.peak = rate->peak.value();
  curve.efficiency = k.efficiency;
  curve.fill = k.fill;
  curve.floor = k.floor.value();
  curve.backward = k.backward;
  curve.small_head = k.small_head;
  curve.passes = in_tables ? k.passes : 0;
  curve.memory = gpu.memory_bandwidth.value();
  curve.processors = gpu.multiprocessors;
  return curve;
}

} // namespace foretrain::experiments
