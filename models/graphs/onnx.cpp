#include "models/graphs/onnx.hpp"

#include "models/graphs/onnx_shapes.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr double kLargestInt = 2e9;

// Operations per element of the output, as docs/networks.md counts them; 0: moves data only.
struct ElementWise {
  const char* op;
  const char* kind;
  double flops;
};
constexpr ElementWise kElementWise[] = {{"Relu", "elementwise", 1},
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

// Views and arithmetic on shapes: no kernel of a size that counts.
bool costs_nothing(const std::string& op)
{
  static const std::set<std::string> kFree{
      "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity",        "Constant", "Shape",
      "Cast",    "Size",    "Range",   "Equal",     "ConstantOfShape", "Not",      "NonZero"};
  return kFree.count(op) > 0;
}

class OnnxGraph {
public:
  OnnxGraph(OnnxFile file, std::string path, std::optional<int> batch)
      : file_(std::move(file)), path_(std::move(path))
  {
    infer_shapes(file_);
    for (const std::string& input : file_.inputs)
      if (const OnnxShape* found = shape(input); found != nullptr && !found->empty()) {
        batch_ = static_cast<double>(std::max<std::int64_t>(1, found->front()));
        break;
      }
    if (batch)
      batch_ = *batch;
  }

  ImportedGraph import()
  {
    for (const OnnxNode& node : file_.nodes)
      add(node);
    if (graph_.operators.empty())
      throw ConfigError(path_, "", "holds no operator whose cost is known");
    graph_.notes.push_back(graph_summary(graph_) +
                           fmt::format(", for a batch of {:g} in the file", batch_));
    if (!file_.symbols.empty())
      graph_.notes.push_back(fmt::format("dimensions that the file does not tell count as 1: {}",
                                         fmt::join(file_.symbols, ", ")));
    for (const auto& [op, count] : unknown_)
      graph_.notes.push_back(
          fmt::format("{} {} left out: {}", count, op, "its cost or its shape is not known"));
    return std::move(graph_);
  }

private:
  const OnnxShape* shape(const std::string& tensor) const
  {
    const auto found = file_.shapes.find(tensor);
    return found == file_.shapes.end() ? nullptr : &found->second;
  }
  bool is_weight(const std::string& tensor) const
  {
    return file_.weights.contains(tensor) && !file_.whole_numbers.contains(tensor);
  }

  // Of a product: fails where it is not told.
  const OnnxShape& need(const OnnxNode& node, const std::string& tensor, std::size_t rank) const
  {
    const OnnxShape* found = shape(tensor);
    if (found == nullptr || found->size() < rank)
      throw ConfigError(path_, "",
                        fmt::format("{} '{}' has no shape for '{}'", node.op, node.name, tensor),
                        "save it with onnx.shape_inference.infer_shapes(model)");
    return *found;
  }

  void add(const OnnxNode& node)
  {
    if (node.outputs.empty() || costs_nothing(node.op))
      return;
    OperatorSpec one;
    one.name = label(node);
    one.op = node.op;
    const bool convolves = node.op == "Conv" || node.op == "ConvTranspose";
    const bool multiplies = node.op == "Gemm" || node.op == "MatMul";
    if (convolves || multiplies || node.op == "Einsum" || node.op == "Gather")
      take_constants(node);
    if (convolves)
      conv(node, one);
    else if (multiplies)
      product(node, one);
    else if (node.op == "Gather" && !node.inputs.empty() && is_weight(node.inputs[0]))
      embedding(node, one);
    else if (node.op == "Einsum" ? !einsum(node, one) : !simple(node, one)) {
      check_holds_nothing(node);
      ++unknown_[node.op];
      return;
    }
    graph_.operators.push_back(std::move(one));
  }

  // Some programs write weights as constants; elsewhere these are masks and factors.
  void take_constants(const OnnxNode& node)
  {
    for (const std::string& input : node.inputs)
      if (const auto found = file_.constants.find(input);
          found != file_.constants.end() && found->second.size() > 1)
        file_.weights.insert(*found);
  }

  // Left out with its weights, an operator would take most of what a network is along.
  void check_holds_nothing(const OnnxNode& node) const
  {
    double held = 0;
    for (const std::string& input : node.inputs)
      if (is_weight(input) && file_.weights.at(input).size() > 1)
        held += elements_of(file_.weights.at(input));
    if (held > 0)
      throw ConfigError(path_, "",
                        fmt::format("{} '{}' holds {:.0f} weights, and what it computes is not "
                                    "known here",
                                    node.op, label(node), held),
                        "describe the network as layers (docs/networks.md), or leave the operator "
                        "out of the file");
  }

  static std::string label(const OnnxNode& node)
  {
    std::string name = node.name.empty() ? node.outputs.front() : node.name;
    return name.size() > 60 ? name.substr(name.size() - 60) : name;
  }

  static int bounded(double number)
  {
    return static_cast<int>(std::clamp(std::round(number), 1.0, kLargestInt));
  }

  // Trainable tensors among the inputs up to one.
  void weights(const OnnxNode& node, OperatorSpec& one, std::size_t most)
  {
    for (std::size_t i = 0; i < node.inputs.size() && i <= most; ++i)
      train(node.inputs[i], one);
  }

  void train(const std::string& tensor, OperatorSpec& one)
  {
    if (is_weight(tensor) && counted_.insert(tensor).second)
      one.gradients.push_back(gradient_elements(elements_of(file_.weights.at(tensor))));
  }

  void traffic(const OnnxNode& node, OperatorSpec& one) const
  {
    for (const std::string& input : node.inputs)
      if (const OnnxShape* in = shape(input); in != nullptr && !is_weight(input))
        one.input_elements += elements_of(*in) / batch_;
    if (const OnnxShape* out = shape(node.outputs.front()))
      one.output_elements = elements_of(*out) / batch_;
  }

  static double filtering(const OnnxWindow& window)
  {
    const auto dilated = [](std::int64_t distance) { return distance != 1; };
    if (window.kernel.size() != 2 || std::ranges::any_of(window.dilations, dilated))
      return 1;
    return minimal_filtering({{window.kernel[0], window.kernel[1]},
                              {window.strides[0], window.strides[1]},
                              false,
                              {0, 0}});
  }

  void conv(const OnnxNode& node, OperatorSpec& one)
  {
    one.kind = "conv";
    const OnnxShape& in = need(node, node.inputs.empty() ? "" : node.inputs[0], 3);
    const OnnxShape& weight = need(node, node.inputs.size() < 2 ? "" : node.inputs[1], 3);
    const OnnxShape& out = need(node, node.outputs.front(), 3);
    const auto given = node.integers.find("group");
    const double groups =
        given == node.integers.end() ? 1 : std::max(1.0, static_cast<double>(given->second));
    const OnnxWindow window = window_of(node, &weight, weight.size() - 2);
    double area = 1;
    for (const std::int64_t length : window.kernel)
      area *= static_cast<double>(length);
    const bool transposed = node.op == "ConvTranspose"; // each input position meets the kernel
    const OnnxShape& places = transposed ? in : out;
    double positions = static_cast<double>(places[0]) / batch_;
    for (std::size_t i = 2; i < places.size(); ++i)
      positions *= static_cast<double>(places[i]);
    const double outputs = static_cast<double>(out[1]) / groups;
    const double inputs = static_cast<double>(in[1]) / groups;
    one.gemm = {bounded(groups), bounded(positions), bounded(outputs * (transposed ? area : 1)),
                bounded(inputs * (transposed ? 1 : area))};
    one.window = transposed ? 1 : bounded(std::min(area, 1e6));
    if (!transposed)
      one.minimal_filtering = filtering(window);
    traffic(node, one);
    weights(node, one, 2);
  }

  void product(const OnnxNode& node, OperatorSpec& one)
  {
    const std::string left = node.inputs.empty() ? "" : node.inputs[0];
    const std::string right = node.inputs.size() < 2 ? "" : node.inputs[1];
    const OnnxShape& a = need(node, left, 2);
    const OnnxShape& b = need(node, right, 2);
    const bool turned = node.integers.count("transA") > 0 && node.integers.at("transA") == 1;
    const double k = static_cast<double>(turned ? a[a.size() - 2] : a.back());
    const bool other = node.integers.count("transB") > 0 && node.integers.at("transB") == 1;
    const double n = static_cast<double>(other ? b[b.size() - 2] : b.back());
    const double rows = elements_of(a) / std::max(1.0, k);
    const bool in_front = is_weight(left) && !is_weight(right);
    one.kind = in_front || is_weight(right) || node.op == "Gemm" ? "linear" : "attention";
    if (in_front) { // rows are what is not the weight's
      one.gemm = {1, bounded(elements_of(b) / std::max(1.0, k) / batch_), bounded(rows),
                  bounded(k)};
    } else if (one.kind == "linear") {
      one.gemm = {1, bounded(rows / batch_), bounded(n), bounded(k)};
    } else {
      const double m = static_cast<double>(a[a.size() - 2]);
      one.gemm = {bounded(rows / std::max(1.0, m) / batch_), bounded(m), bounded(n), bounded(k)};
    }
    weights(node, one, 2);
    traffic(node, one);
  }

  // Of two operands: letters of both and of the result count products, those of both alone are
  // summed over. False where the equation is of another kind.
  bool einsum(const OnnxNode& node, OperatorSpec& one)
  {
    const auto given = node.texts.find("equation");
    std::string equation = given == node.texts.end() ? "" : given->second;
    std::erase(equation, ' ');
    const std::size_t comma = equation.find(','), arrow = equation.find("->");
    if (node.inputs.size() != 2 || comma > arrow || arrow == std::string::npos ||
        equation.find('.') != std::string::npos)
      return false;
    const std::string sides[] = {equation.substr(0, comma),
                                 equation.substr(comma + 1, arrow - comma - 1)};
    const std::string result = equation.substr(arrow + 2);
    std::map<char, double> length;
    for (std::size_t side = 0; side < 2; ++side) {
      const OnnxShape& told = need(node, node.inputs[side], sides[side].size());
      for (std::size_t i = 0; i < sides[side].size(); ++i)
        length[sides[side][i]] = static_cast<double>(told[i]);
    }
    double count = 1, m = 1, n = 1, k = 1;
    for (const auto& [letter, size] : length) {
      const bool left = sides[0].find(letter) != std::string::npos;
      const bool right = sides[1].find(letter) != std::string::npos;
      const bool kept = result.find(letter) != std::string::npos;
      (!kept ? k : left && right ? count : left ? m : n) *= size;
    }
    const bool weight = is_weight(node.inputs[0]) || is_weight(node.inputs[1]);
    one.kind = weight ? "linear" : "attention";
    if (is_weight(node.inputs[0]))
      std::swap(m, n); // rows are what is not a weight's
    // A batch is among the products, or among the rows of a weight's.
    (weight ? m : count) /= batch_;
    one.gemm = {bounded(count), bounded(m), bounded(n), bounded(k)};
    traffic(node, one);
    for (const std::string& input : node.inputs)
      train(input, one);
    return true;
  }

  void embedding(const OnnxNode& node, OperatorSpec& one)
  {
    one.kind = "embedding";
    if (const OnnxShape* out = shape(node.outputs.front()))
      one.input_elements = one.output_elements = elements_of(*out) / batch_;
    train(node.inputs[0], one);
  }

  bool simple(const OnnxNode& node, OperatorSpec& one)
  {
    const OnnxShape* out = shape(node.outputs.front());
    const OnnxShape* in = node.inputs.empty() ? nullptr : shape(node.inputs[0]);
    if (out == nullptr || in == nullptr)
      return false;
    traffic(node, one);
    if (node.op.ends_with("Pool") || node.op.starts_with("Reduce")) {
      one.kind = "pool";
      // Every input is seen once by a global pool, each window by the others.
      const bool global = !node.op.ends_with("Pool") || node.op.starts_with("Global");
      double area = 1;
      if (!global)
        for (const std::int64_t size :
             window_of(node, nullptr, in->size() > 2 ? in->size() - 2 : 0).kernel)
          area *= static_cast<double>(size);
      one.flops = global ? one.input_elements : one.output_elements * area;
      return true;
    }
    for (const ElementWise& known : kElementWise)
      if (node.op == known.op) {
        one.kind = known.kind;
        one.flops = known.flops * one.output_elements;
        if (one.kind == "copy")
          one.input_elements = one.output_elements;
        weights(node, one, node.op == "BatchNormalization" ? 2 : node.inputs.size());
        return true;
      }
    return false;
  }

  OnnxFile file_;
  std::string path_;
  double batch_ = 1;
  ImportedGraph graph_;
  std::set<std::string> counted_; // weights, which several operators may share
  std::map<std::string, int> unknown_;
};

} // namespace

ImportedGraph import_onnx(const std::filesystem::path& path, std::optional<int> batch)
{
  return OnnxGraph(read_onnx(path), path.string(), batch).import();
}

} // namespace foretrain::models
