#include "models/graphs/onnx_fixed.hpp"

#include "models/graphs/onnx_operators.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// Other inputs say how: a shape, places, an index, a scale.
bool relabels_its_first(const std::string& op)
{
  static const std::set<std::string> kRelabel{
      "Identity",  "Cast",      "CastLike", "Reshape", "Flatten",          "Squeeze",
      "Unsqueeze", "Transpose", "Slice",    "Split",   "DequantizeLinear", "QuantizeLinear"};
  return kRelabel.contains(op);
}

// One copy for each sample, or numbers that differ from one to the next.
bool makes_samples(const std::string& op)
{
  return op == "Expand" || op == "Tile" || op == "Bernoulli" || op == "Multinomial" ||
         op.starts_with("Random");
}

// Shapes, counts and comparisons: nothing of the values goes on.
bool keeps_no_values(const std::string& op)
{
  static const std::set<std::string> kNone{"Shape", "Size",    "Range",   "ConstantOfShape",
                                           "Equal", "Not",     "NonZero", "Less",
                                           "And",   "Greater", "Or"};
  return kNone.contains(op);
}

bool is_known(const std::string& op)
{
  return onnx_multiplies(op) || onnx_pools(op) || onnx_costs_nothing(op) || op == "Gather" ||
         relabels_its_first(op) || onnx_element_wise(op) != nullptr;
}

} // namespace

FixedTensors::FixedTensors(const OnnxFile& file) : file_(file)
{
  for (const auto* tensors : {&file.weights, &file.constants})
    for (const auto& [name, shape] : *tensors)
      roots_[name] = file.whole_numbers.contains(name) ? std::set<std::string>{} : std::set{name};
}

const std::set<std::string>& FixedTensors::roots(const std::string& tensor) const
{
  static const std::set<std::string> kNone;
  const auto found = roots_.find(tensor);
  return found == roots_.end() ? kNone : found->second;
}

bool FixedTensors::is_fixed(const OnnxNode& node) const
{
  if (node.inputs.empty() || !node.captured.empty() || makes_samples(node.op))
    return false;
  if (relabels_its_first(node.op))
    return holds(node.inputs[0]);
  return std::ranges::all_of(
      node.inputs, [&](const std::string& input) { return input.empty() || holds(input); });
}

bool FixedTensors::take(const OnnxNode& node)
{
  if (!is_fixed(node))
    return false;
  const bool first = relabels_its_first(node.op) || node.op == "Gather";
  std::set<std::string> roots;
  if (!keeps_no_values(node.op))
    for (std::size_t i = 0; i < (first ? 1 : node.inputs.size()); ++i)
      roots.insert(this->roots(node.inputs[i]).begin(), this->roots(node.inputs[i]).end());
  // A bias that is kept in whole numbers, beside a scale.
  if (node.op == "DequantizeLinear" && file_.weights.contains(node.inputs[0]))
    roots.insert(node.inputs[0]);
  if (!roots.empty() && !is_known(node.op))
    return false;
  for (const std::string& output : node.outputs)
    roots_[output] = roots;
  return true;
}

} // namespace foretrain::models
