// Shapes of an ONNX graph's tensors that the file does not tell, for operators whose rule is short.
#pragma once

#include "models/graphs/onnx_file.hpp"

namespace foretrain::models {

/// Adds to OnnxFile::shapes what follows from the others; tensors of other operators stay unknown
/// unless the file tells them (onnx.shape_inference.infer_shapes).
void infer_shapes(OnnxFile& file);

/// Height and width of a window operator's kernel, strides, dilations and padding.
struct OnnxWindow {
  std::vector<std::int64_t> kernel, strides, dilations, pads; // pads: begins, then ends
};
OnnxWindow window_of(const OnnxNode& node, const OnnxShape* weights, std::size_t spatial);

/// What a convolution of `in` gives, or a pool where there are no weights; `in` has 3 dimensions
/// or more, and weights as many.
OnnxShape windowed(const OnnxNode& node, const OnnxShape& in, const OnnxShape* weights);

/// Product of the dimensions, at most 1e18.
double elements_of(const OnnxShape& shape);

} // namespace foretrain::models
