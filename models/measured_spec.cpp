#include "models/measured_spec.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

void check_line(const MeasuredSpec& measured, std::size_t line, const Value& at)
{
  const int count = static_cast<int>(measured.exchanges.size());
  int begun = 0; // exchanges before this one have been started
  const auto& pieces = measured.lines[line].pieces;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto place = [&] { return at.at("lines").at(line).at("pieces").at(p); };
    for (const int exchange : pieces[p].after)
      if (exchange >= begun)
        place().fail_at(
            "after", fmt::format("names exchange {}, which no piece before it starts", exchange));
    for (const int exchange : pieces[p].starts) {
      if (exchange != begun || exchange >= count)
        place().fail_at(
            "starts",
            fmt::format("names exchange {} of {}; the next one here is {}", exchange, count, begun),
            "every line starts every exchange once, in their order");
      ++begun;
    }
  }
  if (begun < count)
    at.at("lines").at(line).fail_at("pieces", fmt::format("do not start exchange {}", begun));
}

} // namespace

void check_exchanges(const MeasuredSpec& measured, const Value& at)
{
  if (measured.exchanges.empty() != measured.lines.empty())
    at.fail_at(measured.lines.empty() ? "exchanges" : "lines",
               measured.lines.empty() ? "stand without \"lines\", which say when they begin"
                                      : "stand without \"exchanges\"");
  for (std::size_t line = 0; line < measured.lines.size(); ++line)
    check_line(measured, line, at);
}

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
