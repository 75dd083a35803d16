// Arithmetic that GPUs have rates for.
#pragma once

#include "sim/base/choice.hpp"

namespace foretrain::sim {

/// What products are computed in; mxfp8 and mxfp4 have a scale for each 32 values, nvfp4 for
/// each 16.
enum class Precision { fp32, tf32, fp16, bf16, fp8, mxfp8, mxfp4, nvfp4, int8 };
constexpr auto choices(Precision)
{
  return std::to_array<Choice<Precision>>({{Precision::fp32, "fp32"},
                                           {Precision::tf32, "tf32"},
                                           {Precision::fp16, "fp16"},
                                           {Precision::bf16, "bf16"},
                                           {Precision::fp8, "fp8"},
                                           {Precision::mxfp8, "mxfp8"},
                                           {Precision::mxfp4, "mxfp4"},
                                           {Precision::nvfp4, "nvfp4"},
                                           {Precision::int8, "int8"}});
}

/// Whether operands have two bytes.
constexpr bool sixteen_bits(Precision precision)
{
  return precision == Precision::fp16 || precision == Precision::bf16;
}

/// Whether operands are floating-point numbers of four bits.
constexpr bool is_fp4(Precision precision)
{
  return precision == Precision::mxfp4 || precision == Precision::nvfp4;
}

/// Whether operands are floating-point numbers of eight bits or four, which products alone have:
/// all else of a step has 16.
constexpr bool is_narrow(Precision precision)
{
  return precision == Precision::fp8 || precision == Precision::mxfp8 || is_fp4(precision);
}

/// Bytes of an operand, with its share of scales.
constexpr double bytes_of(Precision precision)
{
  switch (precision) {
  case Precision::fp32:
  case Precision::tf32:
    return 4;
  case Precision::fp16:
  case Precision::bf16:
    return 2;
  case Precision::mxfp8:
    return 1 + 1.0 / 32;
  case Precision::mxfp4:
    return 0.5 + 1.0 / 32;
  case Precision::nvfp4:
    return 0.5 + 1.0 / 16;
  case Precision::fp8:
  case Precision::int8:
    break;
  }
  return 1;
}

} // namespace foretrain::sim
