#include "models/networks/network_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

Json json_of(const NetworkTotals& sum)
{
  return {{"parameters", sum.parameters},
          {"divided_parameters", sum.divided_parameters},
          {"gradient_tensors", sum.gradient_tensors},
          {"gradient_bytes_fp32", static_cast<std::int64_t>(sum.gradient_bytes_fp32.value())},
          {"forward_macs", sum.macs},
          {"forward_flops", sum.forward_flops.value()},
          {"activation_elements", sum.activation_elements},
          {"state_elements", sum.state_elements}};
}

Json json_of(const Layer& layer)
{
  Json json = {{"name", layer.name},
               {"op", layer.op},
               {"kind", name_of(layer.kind)},
               {"output", layer.output.text()},
               {"parameters", layer.parameters},
               {"gradient_tensors", layer.gradient_tensors},
               {"forward_macs", layer.macs},
               {"forward_flops", layer.forward_flops.value()},
               {"input_elements", layer.input_elements},
               {"output_elements", layer.output_elements}};
  const Gemm& gemm = layer.gemm;
  if (gemm.count > 0)
    json["gemm"] = {{"count", gemm.count}, {"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}};
  return json;
}

std::vector<Network> preset_networks()
{
  std::vector<Network> networks;
  for (const std::string& name : preset_names(kNetworkKind))
    if (const Value preset = resolve_preset(name, kNetworkKind);
        !preset.json().contains("transformer")) // these have a list of their own
      networks.push_back(load_network(preset));
  return networks;
}

} // namespace

std::string network_text(const Network& network)
{
  std::size_t width = 5;
  for (const Layer& layer : network.layers)
    width = std::max(width, layer.name.size());
  std::string text =
      fmt::format("{}: {} of {}\n\n", network.name, network.samples, network.input.text());
  text += fmt::format("{:{}}  {:<11}  {:>14}  {:>11}  {:>7}  {:>10}  {:>10}\n", "layer", width,
                      "kind", "output", "parameters", "tensors", "MMAC", "MFLOP");
  for (const Layer& layer : network.layers)
    text += fmt::format("{:{}}  {:<11}  {:>14}  {:>11}  {:>7}  {:>10.3f}  {:>10.3f}\n", layer.name,
                        width, name_of(layer.kind), layer.output.text(), layer.parameters,
                        layer.gradient_tensors.size(), layer.macs / 1e6,
                        layer.forward_flops.value() / 1e6);

  const NetworkTotals sum = totals(network);
  text += fmt::format("\n{} layers, per sample:\n"
                      "  parameters         {}\n"
                      "  gradient tensors   {}\n"
                      "  gradients in fp32  {:.1f} MB\n"
                      "  forward            {:.3f} GMAC, {:.3f} GFLOP\n"
                      "  activations        {:.2f} M elements\n",
                      network.layers.size(), sum.parameters, sum.gradient_tensors,
                      sum.gradient_bytes_fp32.value() / 1e6, sum.macs / 1e9,
                      sum.forward_flops.value() / 1e9,
                      static_cast<double>(sum.activation_elements) / 1e6);
  if (sum.divided_parameters > 0)
    text += fmt::format("  and tables         {} parameters, divided among the GPUs\n",
                        sum.divided_parameters);
  return text;
}

Json network_json(const Network& network)
{
  Json layers = Json::array();
  for (const Layer& layer : network.layers)
    layers.push_back(json_of(layer));
  return {{"name", network.name},
          {"samples", network.samples},
          {"input", network.input.text()},
          {"totals", json_of(totals(network))},
          {"layers", std::move(layers)}};
}

std::string network_list_text()
{
  std::string text =
      fmt::format("{:<22}  {:<10}  {:>12}  {:>11}  {:>7}  {:>12}  {:>8}\n", "model", "samples",
                  "input", "parameters", "tensors", "gradients MB", "GMAC");
  for (const Network& network : preset_networks()) {
    const NetworkTotals sum = totals(network);
    text +=
        fmt::format("{:<22}  {:<10}  {:>12}  {:>11}  {:>7}  {:>12.1f}  {:>8.3f}\n", network.name,
                    network.samples, network.input.text(), sum.parameters, sum.gradient_tensors,
                    sum.gradient_bytes_fp32.value() / 1e6, sum.macs / 1e9);
  }
  return text;
}

Json network_list_json()
{
  Json list = Json::array();
  for (const Network& network : preset_networks())
    list.push_back({{"name", network.name},
                    {"samples", network.samples},
                    {"input", network.input.text()},
                    {"totals", json_of(totals(network))}});
  return list;
}

} // namespace foretrain::models
