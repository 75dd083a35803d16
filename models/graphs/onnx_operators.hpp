// ONNX's operators, by their names.
#pragma once

#include <cstddef>
#include <string>

namespace foretrain::models {

/// Operations per element of the output, as docs/networks.md counts them; 0: moves data only.
struct OnnxElementWise {
  const char* op;
  const char* kind;
  double flops;
};
/// Null where it is none.
const OnnxElementWise* onnx_element_wise(const std::string& op);

/// Views and arithmetic on shapes: no kernel of a size that counts.
bool onnx_costs_nothing(const std::string& op);

/// Sums of products: convolutions, matrix products, Einsum.
bool onnx_multiplies(const std::string& op);

/// Pools and reductions.
bool onnx_pools(const std::string& op);

/// How many of an element-wise operator's inputs, from the first one on, may be trained: others
/// are limits, sizes and statistics.
std::size_t onnx_trained_inputs(const std::string& op, std::size_t inputs);

} // namespace foretrain::models
