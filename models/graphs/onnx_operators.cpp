#include "models/graphs/onnx_operators.hpp"

#include <algorithm>
#include <set>

namespace foretrain::models {

namespace {

constexpr OnnxElementWise kOnnxElementWise[] = {{"Relu", "elementwise", 1},
                                                {"LeakyRelu", "elementwise", 2},
                                                {"PRelu", "elementwise", 2},
                                                {"Clip", "elementwise", 2},
                                                {"Sigmoid", "elementwise", 4},
                                                {"HardSigmoid", "elementwise", 3},
                                                {"HardSwish", "elementwise", 4},
                                                {"Tanh", "elementwise", 1},
                                                {"Gelu", "elementwise", 5},
                                                {"Erf", "elementwise", 1},
                                                {"Elu", "elementwise", 3},
                                                {"Selu", "elementwise", 3},
                                                {"Exp", "elementwise", 1},
                                                {"Sqrt", "elementwise", 1},
                                                {"Pow", "elementwise", 1},
                                                {"Neg", "elementwise", 1},
                                                {"Abs", "elementwise", 1},
                                                {"Add", "elementwise", 1},
                                                {"Sub", "elementwise", 1},
                                                {"Mul", "elementwise", 1},
                                                {"Div", "elementwise", 1},
                                                {"Sum", "elementwise", 1},
                                                {"Min", "elementwise", 1},
                                                {"Max", "elementwise", 1},
                                                {"Where", "elementwise", 1},
                                                {"Softmax", "elementwise", 5},
                                                {"LogSoftmax", "elementwise", 5},
                                                {"Dropout", "elementwise", 2},
                                                {"QuantizeLinear", "elementwise", 2},
                                                {"DequantizeLinear", "elementwise", 2},
                                                {"LRN", "norm", 9},
                                                {"BatchNormalization", "norm", 8},
                                                {"LayerNormalization", "row_norm", 8},
                                                {"InstanceNormalization", "norm", 8},
                                                {"GroupNormalization", "norm", 8},
                                                {"Concat", "copy", 0},
                                                {"Transpose", "copy", 0},
                                                {"Slice", "copy", 0},
                                                {"Split", "copy", 0},
                                                {"Pad", "copy", 0},
                                                {"Resize", "copy", 0},
                                                {"Expand", "copy", 0}};

} // namespace

const OnnxElementWise* onnx_element_wise(const std::string& op)
{
  const auto* found = std::ranges::find_if(
      kOnnxElementWise, [&](const OnnxElementWise& one) { return op == one.op; });
  return found == std::end(kOnnxElementWise) ? nullptr : found;
}

bool onnx_costs_nothing(const std::string& op)
{
  static const std::set<std::string> kFree{"Reshape",         "Flatten",  "Squeeze", "Unsqueeze",
                                           "Identity",        "Constant", "Shape",   "Cast",
                                           "CastLike",        "Size",     "Range",   "Equal",
                                           "ConstantOfShape", "Not",      "NonZero"};
  return kFree.contains(op);
}

bool onnx_multiplies(const std::string& op)
{
  static const std::set<std::string> kProducts{"Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum"};
  return kProducts.contains(op);
}

bool onnx_pools(const std::string& op)
{
  return op.ends_with("Pool") || op.starts_with("Reduce");
}

std::size_t onnx_trained_inputs(const std::string& op, std::size_t inputs)
{
  static const std::set<std::string> kFirstAlone{
      "Clip",   "Dropout", "Pow", "Slice",          "Split",           "Pad",
      "Resize", "Expand",  "LRN", "QuantizeLinear", "DequantizeLinear"};
  return kFirstAlone.contains(op) ? 1 : op == "BatchNormalization" ? 3 : inputs;
}

} // namespace foretrain::models
