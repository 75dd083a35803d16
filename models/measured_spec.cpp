#include "models/measured_spec.hpp"

#include <fmt/format.h>

namespace foretrain::models {

std::vector<Layer> measured_layers(const MeasuredSpec& measured)
{
  std::vector<Layer> layers;
  for (std::size_t i = measured.backward.size(); i-- > 0;) {
    const MeasuredStretch& stretch = measured.backward[i];
    Layer layer;
    layer.name = stretch.name.empty() ? fmt::format("backward{}", i) : stretch.name;
    layer.op = "measured";
    layer.kind = stretch.product > stretch.memory ? LayerKind::linear : LayerKind::elementwise;
    layer.output = Shape::vector(1);
    for (std::size_t g = stretch.gradients.size(); g-- > 0;) {
      layer.gradient_tensors.push_back(stretch.gradients[g]);
      layer.parameters += stretch.gradients[g];
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

} // namespace foretrain::models
