#include "models/graphs/onnx.hpp"

#include "models/graphs/onnx_checks.hpp"
#include "models/graphs/onnx_fixed.hpp"
#include "models/graphs/onnx_operators.hpp"
#include "models/graphs/onnx_shapes.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr double kLargestInt = 2e9;

class OnnxGraph {
public:
  OnnxGraph(OnnxFile file, std::string path, std::optional<int> batch)
      : file_(std::move(file)), path_(std::move(path)), fixed_(file_)
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
    for (const auto& [op, count] : of_weights_)
      graph_.notes.push_back(fmt::format(
          "{} {} of weights alone left out: a step computes it once, whatever its batch", count,
          op));
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
    if (node.outputs.empty())
      return;
    if (fixed_.take(node)) {
      if (onnx_multiplies(node.op))
        ++of_weights_[node.op];
      return;
    }
    if (onnx_costs_nothing(node.op))
      return;
    OperatorSpec one;
    one.name = label(node);
    one.op = node.op;
    if (node.op == "Conv" || node.op == "ConvTranspose")
      conv(node, one);
    else if (node.op == "Gemm" || node.op == "MatMul")
      product(node, one);
    else if (node.op == "Gather" && !node.inputs.empty() && !fixed_.roots(node.inputs[0]).empty())
      embedding(node, one);
    else if (node.op == "Einsum" ? !einsum(node, one) : !simple(node, one)) {
      check_holds_nothing(node);
      ++unknown_[node.op];
      return;
    }
    graph_.operators.push_back(std::move(one));
  }

  // Left out with its weights, an operator would take most of what a network is along.
  void check_holds_nothing(const OnnxNode& node) const
  {
    std::set<std::string> weights;
    for (const auto* inputs : {&node.inputs, &node.captured})
      for (const std::string& input : *inputs)
        weights.insert(fixed_.roots(input).begin(), fixed_.roots(input).end());
    double held = 0;
    for (const std::string& weight : weights)
      if (const auto found = file_.weights.find(weight);
          found != file_.weights.end() && found->second.size() > 1)
        held += elements_of(found->second);
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

  // Trainable tensors among its first inputs.
  void train(const OnnxNode& node, OperatorSpec& one, std::size_t inputs)
  {
    for (std::size_t i = 0; i < node.inputs.size() && i < inputs; ++i)
      for (const std::string& root : fixed_.roots(node.inputs[i]))
        if (const double elements = trained_elements(root, one);
            elements > 0 && counted_.insert(root).second)
          one.gradients.push_back(gradient_elements(elements));
  }

  // Some programs write weights as constants. Where nothing is multiplied or looked up these are
  // masks and factors.
  double trained_elements(const std::string& root, const OperatorSpec& one) const
  {
    if (const auto weight = file_.weights.find(root); weight != file_.weights.end())
      return elements_of(weight->second);
    const auto constant = file_.constants.find(root);
    const bool takes = onnx_multiplies(one.op) || one.op == "Gather";
    return takes && constant != file_.constants.end() && constant->second.size() > 1
               ? elements_of(constant->second)
               : 0;
  }

  void traffic(const OnnxNode& node, OperatorSpec& one) const
  {
    for (const std::string& input : node.inputs)
      if (const OnnxShape* in = shape(input); in != nullptr && !fixed_.holds(input))
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
    check_convolution(file_, path_, node, in, weight);
    if (node.op == "Conv")
      check_result(file_, path_, node, windowed(node, in, &weight), out);
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
    train(node, one, 3);
  }

  void product(const OnnxNode& node, OperatorSpec& one)
  {
    const std::string left = node.inputs.empty() ? "" : node.inputs[0];
    const std::string right = node.inputs.size() < 2 ? "" : node.inputs[1];
    const OnnxShape& a = need(node, left, 2);
    const OnnxShape& b = need(node, right, 2);
    // Activations of lengths that are not told may seem to differ.
    if (file_.symbols.empty() || fixed_.holds(left) || fixed_.holds(right))
      check_product(file_, path_, node, a, b);
    const bool turned = node.integers.count("transA") > 0 && node.integers.at("transA") == 1;
    const double k = static_cast<double>(turned ? a[a.size() - 2] : a.back());
    const bool other = node.integers.count("transB") > 0 && node.integers.at("transB") == 1;
    const double n = static_cast<double>(other ? b[b.size() - 2] : b.back());
    const double rows = elements_of(a) / std::max(1.0, k);
    const bool in_front = fixed_.holds(left);
    one.kind = in_front || fixed_.holds(right) || node.op == "Gemm" ? "linear" : "attention";
    if (in_front) { // rows are what is not the weight's
      const double columns = elements_of(b) / std::max(1.0, k);
      const OnnxShape* out = shape(node.outputs.front());
      const double each = out == nullptr ? rows : elements_of(*out) / columns;
      one.gemm = {1, bounded(columns / batch_), bounded(each), bounded(k)};
    } else if (one.kind == "linear") {
      one.gemm = {1, bounded(rows / batch_), bounded(n), bounded(k)};
    } else {
      const double m = static_cast<double>(a[a.size() - 2]);
      one.gemm = {bounded(rows / std::max(1.0, m) / batch_), bounded(m), bounded(n), bounded(k)};
    }
    train(node, one, 3);
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
      for (std::size_t i = 0; i < sides[side].size(); ++i) {
        const auto size = static_cast<double>(told[i]);
        const auto known = length.emplace(sides[side][i], size).first;
        check_letter(file_, path_, node, known->first, known->second, size);
        known->second = std::max(known->second, size);
      }
    }
    double count = 1, m = 1, n = 1, k = 1;
    for (const auto& [letter, size] : length) {
      const bool left = sides[0].find(letter) != std::string::npos;
      const bool right = sides[1].find(letter) != std::string::npos;
      const bool kept = result.find(letter) != std::string::npos;
      (!kept ? k : left && right ? count : left ? m : n) *= size;
    }
    const bool in_front = fixed_.holds(node.inputs[0]);
    const bool weight = in_front || fixed_.holds(node.inputs[1]);
    one.kind = weight ? "linear" : "attention";
    if (in_front)
      std::swap(m, n); // rows are what is not a weight's
    // A batch is among the products, or among the rows of a weight's.
    (weight ? m : count) /= batch_;
    one.gemm = {bounded(count), bounded(m), bounded(n), bounded(k)};
    traffic(node, one);
    train(node, one, 2);
    return true;
  }

  void embedding(const OnnxNode& node, OperatorSpec& one)
  {
    one.kind = "embedding";
    if (const OnnxShape* out = shape(node.outputs.front()))
      one.input_elements = one.output_elements = elements_of(*out) / batch_;
    train(node, one, 1);
  }

  bool simple(const OnnxNode& node, OperatorSpec& one)
  {
    const OnnxShape* out = shape(node.outputs.front());
    const OnnxShape* in = node.inputs.empty() ? nullptr : shape(node.inputs[0]);
    if (out == nullptr || in == nullptr)
      return false;
    const OnnxShape* scale = node.inputs.size() < 2 ? nullptr : shape(node.inputs[1]);
    if (node.op == "BatchNormalization" && scale != nullptr)
      check_channels(file_, path_, node, *in, *scale);
    traffic(node, one);
    if (onnx_pools(node.op)) {
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
    const OnnxElementWise* known = onnx_element_wise(node.op);
    if (known == nullptr)
      return false;
    one.kind = known->kind;
    one.flops = known->flops * one.output_elements;
    if (one.kind == "copy")
      one.input_elements = one.output_elements;
    train(node, one, onnx_trained_inputs(node.op, node.inputs.size()));
    return true;
  }

  OnnxFile file_;
  std::string path_;
  FixedTensors fixed_;
  double batch_ = 1;
  ImportedGraph graph_;
  std::set<std::string> counted_; // weights, which several operators may share
  std::map<std::string, int> unknown_, of_weights_;
};

} // namespace

ImportedGraph import_onnx(const std::filesystem::path& path, std::optional<int> batch)
{
  return OnnxGraph(read_onnx(path), path.string(), batch).import();
}

} // namespace foretrain::models
