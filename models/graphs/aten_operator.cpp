#include "models/graphs/aten_operator.hpp"

#include "models/networks/layer.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace foretrain::models {

namespace {

enum class OperatorFamily { conv, linear, product, attention, simple, reduction, embedding };

struct Known {
  const char* name; // behind "aten::", without a trailing '_'
  OperatorFamily family;
  const char* kind;
  double flops; // per element of the output
};

// Operations as docs/networks.md counts them.
constexpr Known kKnown[] = {
    {"conv1d", OperatorFamily::conv, "conv", 0},
    {"conv2d", OperatorFamily::conv, "conv", 0},
    {"conv3d", OperatorFamily::conv, "conv", 0},
    {"convolution", OperatorFamily::conv, "conv", 0},
    {"conv_transpose1d", OperatorFamily::conv, "conv", 0},
    {"conv_transpose2d", OperatorFamily::conv, "conv", 0},
    {"conv_transpose3d", OperatorFamily::conv, "conv", 0},
    {"linear", OperatorFamily::linear, "linear", 0},
    {"addmm", OperatorFamily::product, "linear", 0},
    {"mm", OperatorFamily::product, "linear", 0},
    {"matmul", OperatorFamily::product, "attention", 0},
    {"bmm", OperatorFamily::product, "attention", 0},
    {"baddbmm", OperatorFamily::product, "attention", 0},
    {"scaled_dot_product_attention", OperatorFamily::attention, "attention", 0},
    {"_scaled_dot_product_flash_attention", OperatorFamily::attention, "attention", 0},
    {"_scaled_dot_product_efficient_attention", OperatorFamily::attention, "attention", 0},
    {"_scaled_dot_product_cudnn_attention", OperatorFamily::attention, "attention", 0},
    {"batch_norm", OperatorFamily::simple, "norm", 8},
    {"layer_norm", OperatorFamily::simple, "row_norm", 8},
    {"group_norm", OperatorFamily::simple, "norm", 8},
    {"rms_norm", OperatorFamily::simple, "row_norm", 4},
    {"relu", OperatorFamily::simple, "elementwise", 1},
    {"gelu", OperatorFamily::simple, "elementwise", 5},
    {"silu", OperatorFamily::simple, "elementwise", 5},
    {"tanh", OperatorFamily::simple, "elementwise", 1},
    {"sigmoid", OperatorFamily::simple, "elementwise", 4},
    {"hardtanh", OperatorFamily::simple, "elementwise", 2},
    {"hardswish", OperatorFamily::simple, "elementwise", 4},
    {"leaky_relu", OperatorFamily::simple, "elementwise", 2},
    {"softmax", OperatorFamily::simple, "elementwise", 5},
    {"log_softmax", OperatorFamily::simple, "elementwise", 5},
    {"dropout", OperatorFamily::simple, "elementwise", 2},
    {"add", OperatorFamily::simple, "elementwise", 1},
    {"sub", OperatorFamily::simple, "elementwise", 1},
    {"mul", OperatorFamily::simple, "elementwise", 1},
    {"div", OperatorFamily::simple, "elementwise", 1},
    {"neg", OperatorFamily::simple, "elementwise", 1},
    {"abs", OperatorFamily::simple, "elementwise", 1},
    {"exp", OperatorFamily::simple, "elementwise", 1},
    {"log", OperatorFamily::simple, "elementwise", 1},
    {"sin", OperatorFamily::simple, "elementwise", 1},
    {"cos", OperatorFamily::simple, "elementwise", 1},
    {"pow", OperatorFamily::simple, "elementwise", 1},
    {"sqrt", OperatorFamily::simple, "elementwise", 1},
    {"rsqrt", OperatorFamily::simple, "elementwise", 2},
    {"where", OperatorFamily::simple, "elementwise", 1},
    {"masked_fill", OperatorFamily::simple, "elementwise", 1},
    {"clamp", OperatorFamily::simple, "elementwise", 2},
    {"clamp_min", OperatorFamily::simple, "elementwise", 1},
    {"hardsigmoid", OperatorFamily::simple, "elementwise", 3},
    {"elu", OperatorFamily::simple, "elementwise", 3},
    {"mean", OperatorFamily::reduction, "pool", 1},
    {"sum", OperatorFamily::reduction, "pool", 1},
    {"max_pool2d", OperatorFamily::simple, "pool", 9},
    {"avg_pool2d", OperatorFamily::simple, "pool", 9},
    {"adaptive_avg_pool2d", OperatorFamily::simple, "pool", 0},
    {"cat", OperatorFamily::simple, "copy", 0},
    {"embedding", OperatorFamily::embedding, "embedding", 0},
    {"embedding_bag", OperatorFamily::embedding, "embedding", 0}};

const Known* known(const std::string& name)
{
  if (!name.starts_with("aten::"))
    return nullptr;
  std::string word = name.substr(6);
  if (word.ends_with("_"))
    word.pop_back();
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& one) { return word == one.name; });
  return found == std::end(kKnown) ? nullptr : &*found;
}

int dimension(double number)
{
  return static_cast<int>(std::clamp(std::round(number), 1.0, 2e9));
}

// Dimensions but the last `count`.
double leading(const AtenShape& shape, std::size_t count)
{
  return elements({shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count)});
}

bool set_conv(const AtenCall& call, double batch, OperatorSpec& one)
{
  if (call.inputs.size() < 2 || call.outputs.empty())
    return false;
  const AtenShape& weight = call.inputs[1];
  const AtenShape& places = call.transposed ? call.inputs[0] : call.outputs[0];
  if (weight.size() < 3 || places.size() != weight.size())
    return false;
  const double area = elements({weight.begin() + 2, weight.end()});
  const double positions = elements(places) / std::max(1.0, places[1]) / batch;
  const double groups = std::max(1.0, call.groups);
  if (call.transposed) { // each input position meets the kernel; weights are [in, out / groups, ..]
    one.gemm = {dimension(groups), dimension(positions), dimension(weight[1] * area),
                dimension(weight[0] / groups)};
    one.window = 1;
    return true;
  }
  one.gemm = {dimension(groups), dimension(positions), dimension(weight[0] / groups),
              dimension(weight[1] * area)};
  one.window = dimension(std::min(area, 1e6));
  const auto all_one = [](const std::vector<double>& sizes) {
    return std::ranges::all_of(sizes, [](double size) { return size == 1; });
  };
  if (all_one(call.stride) && all_one(call.dilation) && weight.size() == 4)
    one.minimal_filtering =
        minimal_filtering({{dimension(weight[2]), dimension(weight[3])}, {1, 1}, false, {0, 0}});
  return true;
}

bool set_linear(const AtenCall& call, double batch, OperatorSpec& one)
{
  if (call.inputs.size() < 2 || call.inputs[0].empty() || call.inputs[1].size() != 2)
    return false;
  const AtenShape& in = call.inputs[0];
  one.gemm = {1, dimension(leading(in, 1) / batch), dimension(call.inputs[1][0]),
              dimension(in.back())};
  return true;
}

// What addmm and baddbmm add comes before what they multiply.
std::size_t first_operand(const AtenCall& call)
{
  return call.name.find("add") != std::string::npos ? 1 : 0;
}

// Of [..., m, k] x [..., k, n] the operand that is a weight. Two that are kept are a weight behind
// the batch; numbers of more dimensions are no layer's then. A vector (k = 1), as of frequencies
// that positions are multiplied by, is none.
std::optional<std::size_t> weight_operand(const AtenCall& call)
{
  const std::size_t a = first_operand(call), b = a + 1;
  if (call.inputs.size() <= b || call.kept.size() <= b || call.inputs[a].size() < 2 ||
      call.inputs[b].size() < 2 || call.inputs[a].back() <= 1)
    return std::nullopt;
  if (call.kept[b] && (!call.kept[a] || call.inputs[b].size() == 2))
    return b;
  return call.kept[a] && !call.kept[b] ? std::optional(a) : std::nullopt;
}

// [..., m, k] x [..., k, n].
bool set_product(const AtenCall& call, double batch, OperatorSpec& one)
{
  const std::size_t first = first_operand(call);
  if (call.inputs.size() < first + 2)
    return false;
  const AtenShape& a = call.inputs[first];
  const AtenShape& b = call.inputs[first + 1];
  if (a.size() < 2 || b.size() < 2)
    return false;
  const double m = a[a.size() - 2];
  const auto weight = weight_operand(call);
  if (weight == first) { // rows are what is not the weight's
    const double rows = elements(b) / std::max(1.0, a.back());
    one.kind = "linear";
    one.gemm = {1, dimension(rows / batch), dimension(elements(call.outputs[0]) / rows),
                dimension(a.back())};
  } else if (one.kind == "linear" || b.size() == 2 || weight) {
    one.kind = "linear";
    one.gemm = {1, dimension(leading(a, 1) / batch), dimension(b.back()), dimension(a.back())};
  } else {
    one.gemm = {dimension(leading(a, 2) / batch), dimension(m), dimension(b.back()),
                dimension(a.back())};
  }
  return true;
}

} // namespace

double elements(const AtenShape& shape)
{
  double product = 1;
  for (const double size : shape)
    product = std::min(1e15, product * std::max(1.0, size));
  return product;
}

bool known_operator(const std::string& name)
{
  return known(name) != nullptr;
}

bool is_product(const std::string& name)
{
  const Known* it = known(name);
  return it != nullptr && it->family == OperatorFamily::product;
}

bool multiplies(const std::string& name)
{
  const Known* it = known(name);
  return it != nullptr &&
         (it->family == OperatorFamily::linear || it->family == OperatorFamily::product);
}

bool is_of_scalars(const AtenCall& call)
{
  const auto is_number = [](const AtenShape& shape) { return shape.empty(); };
  return std::ranges::all_of(call.inputs, is_number) &&
         std::ranges::all_of(call.outputs, is_number) && !call.outputs.empty();
}

std::vector<std::size_t> weight_inputs(const AtenCall& call)
{
  const Known* it = known(call.name);
  if (it == nullptr)
    return {};
  switch (it->family) {
  case OperatorFamily::conv:
  case OperatorFamily::linear:
    return {1, 2};
  case OperatorFamily::embedding:
    return {0};
  case OperatorFamily::simple:
    return !std::string(it->kind).ends_with("norm") ? std::vector<std::size_t>{}
           : std::string(it->name) == "batch_norm"  ? std::vector<std::size_t>{1, 2}
                                                    : std::vector<std::size_t>{2, 3};
  case OperatorFamily::product:
    if (it->name == std::string("addmm") && !call.inputs.empty() && call.inputs[0].size() == 1)
      return {0, 2};
    if (const auto weight = weight_operand(call))
      return {*weight};
    break;
  case OperatorFamily::attention:
  case OperatorFamily::reduction:
    break;
  }
  return {};
}

std::vector<OperatorSpec> operators_of(const AtenCall& call, double batch)
{
  const Known* it = known(call.name);
  if (it == nullptr || call.inputs.empty() || call.outputs.empty())
    return {};
  OperatorSpec one;
  one.op = call.name.substr(6);
  one.kind = it->kind;
  const auto weights = weight_inputs(call);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (std::find(weights.begin(), weights.end(), i) == weights.end() && !call.inputs[i].empty())
      one.input_elements += elements(call.inputs[i]) / batch;
  if ((it->family != OperatorFamily::simple && it->family != OperatorFamily::reduction) ||
      it->kind == std::string("norm"))
    one.input_elements =
        elements(
            call.inputs[it->family == OperatorFamily::embedding ? 1 % call.inputs.size() : 0]) /
        batch;
  one.output_elements = elements(call.outputs[0]) / batch;
  if (call.outputs[0].empty() && it->family != OperatorFamily::reduction)
    return {};
  switch (it->family) {
  case OperatorFamily::conv:
    return set_conv(call, batch, one) ? std::vector{one} : std::vector<OperatorSpec>{};
  case OperatorFamily::linear:
    return set_linear(call, batch, one) ? std::vector{one} : std::vector<OperatorSpec>{};
  case OperatorFamily::product:
    one.input_elements = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      if (call.inputs[i].size() > 1 && std::ranges::find(weights, i) == weights.end())
        one.input_elements += elements(call.inputs[i]) / batch;
    return set_product(call, batch, one) ? std::vector{one} : std::vector<OperatorSpec>{};
  case OperatorFamily::attention: {
    if (call.inputs.size() < 3 || call.inputs[0].size() < 2 || call.inputs[1].size() < 2)
      return {};
    const AtenShape& q = call.inputs[0];
    const double m = q[q.size() - 2];
    const double keys = call.inputs[1][call.inputs[1].size() - 2];
    const double heads = leading(q, 2) / batch;
    OperatorSpec scores = one;
    scores.gemm = {dimension(heads), dimension(m), dimension(keys), dimension(q.back())};
    scores.output_elements = 0; // kept on the chip
    one.gemm = {dimension(heads), dimension(m), dimension(q.back()), dimension(keys)};
    return {scores, one};
  }
  case OperatorFamily::embedding:
    one.input_elements = one.output_elements;
    return {one};
  case OperatorFamily::simple:
    one.flops = it->flops * one.output_elements;
    if (one.op.starts_with("adaptive"))
      one.flops = one.input_elements;
    if (one.kind == "copy")
      one.input_elements = one.output_elements; // told as a list
    return {one};
  case OperatorFamily::reduction:
    one.flops = one.input_elements;
    return {one};
  }
  return {};
}

} // namespace foretrain::models
