// Arithmetic that GPUs have rates for.
#pragma once

#include "sim/base/choice.hpp"

namespace foretrain::sim {

/// What products are computed in; mxfp8 is fp8 with a scale for each 32 values.
enum class Precision { fp32, tf32, fp16, bf16, fp8, mxfp8, int8 };
constexpr auto choices(Precision)
{
  return std::to_array<Choice<Precision>>({{Precision::fp32, "fp32"},
                                           {Precision::tf32, "tf32"},
                                           {Precision::fp16, "fp16"},
                                           {Precision::bf16, "bf16"},
                                           {Precision::fp8, "fp8"},
                                           {Precision::mxfp8, "mxfp8"},
                                           {Precision::int8, "int8"}});
}

/// Whether operands have two bytes.
constexpr bool sixteen_bits(Precision precision)
{
  return precision == Precision::fp16 || precision == Precision::bf16;
}

/// Whether operands are floating-point numbers of one byte.
constexpr bool is_fp8(Precision precision)
{
  return precision == Precision::fp8 || precision == Precision::mxfp8;
}

/// Bytes of an operand.
constexpr int bytes_of(Precision precision)
{
  return sixteen_bits(precision) ? 2 : is_fp8(precision) || precision == Precision::int8 ? 1 : 4;
}

} // namespace foretrain::sim
