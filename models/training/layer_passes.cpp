#include "models/training/layer_passes.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// Of a softmax: beyond, the rows that a GPU has in work at a time, two for each multiprocessor,
// take more than any GPU's second cache (138 MB of half precision at this length on 132 of them; a
// B200 has 126), so that each pass over a row reads memory.
constexpr std::int64_t kLongRow = 1 << 18;

Passes alone(LayerKind kind)
{
  switch (kind) {
  case LayerKind::norm:
    return {2, 1, 3, 2};
  case LayerKind::row_norm:
    return {1, 1, 4, 1};
  case LayerKind::elementwise:
    return {1, 1, 1, 2};
  case LayerKind::pool:
    return {1, 1, 2, 2};
  case LayerKind::conv:
  case LayerKind::linear:
  case LayerKind::attention:
  case LayerKind::embedding:
  case LayerKind::copy:
  case LayerKind::regroup:
  case LayerKind::tables:
    return {1, 1, 1, 1};
  }
  return {};
}

bool activation(const Layer& layer)
{
  return layer.kind == LayerKind::elementwise && layer.input_elements == layer.output_elements;
}

// A convolution is what reads the result of layer `index`, through activations at most.
bool convolution_reads(const Network& network, std::size_t index)
{
  const std::int64_t elements = network.layers[index].output_elements;
  do
    ++index;
  while (index < network.layers.size() && activation(network.layers[index]));
  return index < network.layers.size() && network.layers[index].kind == LayerKind::conv &&
         network.layers[index].input_elements == elements;
}

// Scores of every word of a large vocabulary: softmax is of what a linear layer made.
bool long_softmax(const Network& network, std::size_t index)
{
  return network.layers[index].op == "softmax" && index > 0 &&
         network.layers[index - 1].kind == LayerKind::linear &&
         network.layers[index].output.features > kLongRow;
}

// Activations and additions of one tensor or more.
bool in_a_chain(const Layer& layer)
{
  const bool product = layer.op == "multiply" && layer.input_elements >= 2 * layer.output_elements;
  return layer.kind == LayerKind::elementwise && !product;
}

// Library kernels that write what they made before anybody reads it.
bool matrix_product(const Layer& layer)
{
  return layer.kind == LayerKind::linear || layer.kind == LayerKind::attention;
}

} // namespace

AddedGradients added_gradients(int gradients, bool fused)
{
  return fused ? AddedGradients{1.0 * gradients, 0} : AddedGradients{3.0 * gradients, gradients};
}

bool rides_along(const Network& network, std::size_t index, const KernelSpec& kernels)
{
  const auto& layers = network.layers;
  if (!in_a_chain(layers[index]))
    return false;
  std::size_t first = index, behind = index + 1;
  while (first > 0 && in_a_chain(layers[first - 1]))
    --first;
  while (behind < layers.size() && in_a_chain(layers[behind]))
    ++behind;
  if (first == 0 || !matrix_product(layers[first - 1]) ||
      (behind < layers.size() && !matrix_product(layers[behind])) ||
      (kernels.activations_in_products && layers[first - 1].kind == LayerKind::linear &&
       activation(layers[first])))
    return true;
  // Its softmax stands for a chain that has one, else the first layer.
  const auto begin = layers.begin();
  const auto softmax = std::find_if(begin + static_cast<std::ptrdiff_t>(first),
                                    begin + static_cast<std::ptrdiff_t>(behind),
                                    [](const Layer& layer) { return layer.op == "softmax"; });
  const auto at = static_cast<std::size_t>(softmax - begin);
  return index != (at < behind ? at : first);
}

Passes passes_of(const Network& network, std::size_t index, const KernelSpec& kernels)
{
  const Layer& layer = network.layers[index];
  if (long_softmax(network, index))
    return {3, 1, 1, 4};
  Passes passes = alone(layer.kind);
  if (kernels.batch_norm == BatchNorm::alone || layer.op != "batch_norm" ||
      layer.kind != LayerKind::norm || index == 0 ||
      network.layers[index - 1].kind != LayerKind::conv)
    return passes;
  passes.forward_in = 1;
  if (kernels.batch_norm == BatchNorm::in_convolutions && convolution_reads(network, index))
    passes.forward_in = passes.forward_out = 0;
  return passes;
}

} // namespace foretrain::models
