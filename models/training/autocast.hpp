// What an operation moves that computes in single precision in a half-precision network.
#pragma once

#include "sim/cost/precision.hpp"

#include <string_view>

namespace foretrain::models {

/// torch.autocast, and the half precision that it keeps products in: softmax and normalisation of
/// positions compute in single precision (PyTorch documentation, "CUDA Ops that can autocast to
/// float32").
enum class Autocast { none, fp16, bf16 };
Autocast autocast_of(bool framework, sim::Precision precision);

/// Bytes read and written of an element that a kernel converts from half precision to single, or
/// back.
constexpr double kConvertedBytes = 2 + 4;

/// Bytes of an element of half precision that such an operation takes; its gradient the other way.
struct SingleBytes {
  double converted; // moved by a kernel before it
  double in, out;   // that the operation reads of an input, and writes of a result
};

/// Softmax of fp16 takes half precision and gives single by itself; of bf16 it has a conversion
/// before it, as has all else (aten/src/ATen/native/SoftMax.cpp, softmax and log_softmax with a
/// dtype: half_to_float where the input's is Half).
SingleBytes in_single(Autocast autocast, std::string_view op);

} // namespace foretrain::models
