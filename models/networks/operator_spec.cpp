#include "models/networks/operator_spec.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

LayerKind layer_kind(const std::string& name)
{
  for (const LayerKind kind :
       {LayerKind::conv, LayerKind::linear, LayerKind::attention, LayerKind::norm,
        LayerKind::row_norm, LayerKind::elementwise, LayerKind::pool, LayerKind::embedding,
        LayerKind::copy, LayerKind::regroup})
    if (name == name_of(kind))
      return kind;
  return LayerKind::elementwise;
}

std::int64_t rounded(double number)
{
  return std::llround(number);
}

} // namespace

std::vector<Layer> operator_layers(const std::vector<OperatorSpec>& operators, const Value& at)
{
  std::vector<Layer> layers;
  bool trained = false; // something before
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OperatorSpec& spec = operators[i];
    if (!spec.gemm.empty() && spec.gemm.size() != 4)
      at.at(i).fail_at("gemm",
                       fmt::format("must be [count, m, n, k], got {} numbers", spec.gemm.size()));
    Layer layer;
    layer.name = spec.name.empty() ? fmt::format("{}{}", spec.kind, i) : spec.name;
    layer.op = spec.op.empty() ? spec.kind : spec.op;
    layer.kind = layer_kind(spec.kind);
    layer.output = Shape::vector(std::max<std::int64_t>(1, rounded(spec.output_elements)));
    layer.input_elements = rounded(spec.input_elements);
    layer.output_elements = rounded(spec.output_elements);
    layer.window = spec.window;
    layer.minimal_filtering = spec.minimal_filtering;
    layer.forward_flops = Flops(spec.flops);
    if (!spec.gemm.empty()) {
      layer.gemm = {spec.gemm[0], spec.gemm[1], spec.gemm[2], spec.gemm[3]};
      layer.macs = layer.gemm.macs();
      layer.forward_flops = Flops(2 * layer.macs);
    }
    for (const int elements : spec.gradients) {
      layer.gradient_tensors.push_back(elements);
      layer.parameters += elements;
    }
    layer.input_gradient = trained;
    trained = trained || layer.parameters > 0;
    layers.push_back(std::move(layer));
  }
  return layers;
}

Json json_of(const OperatorSpec& spec)
{
  Json json = {{"name", spec.name}, {"op", spec.op}, {"kind", spec.kind}};
  if (!spec.gemm.empty())
    json["gemm"] = spec.gemm;
  if (spec.window > 0)
    json["window"] = spec.window;
  if (spec.minimal_filtering > 1)
    json["minimal_filtering"] = spec.minimal_filtering;
  if (spec.gemm.empty() && spec.flops > 0)
    json["flops"] = spec.flops;
  json["input_elements"] = spec.input_elements;
  json["output_elements"] = spec.output_elements;
  if (!spec.gradients.empty())
    json["gradients"] = spec.gradients;
  return json;
}

} // namespace foretrain::models
