#include "models/networks/layer.hpp"

namespace foretrain::models {

const char* name_of(LayerKind kind)
{
  switch (kind) {
  case LayerKind::conv:
    return "conv";
  case LayerKind::linear:
    return "linear";
  case LayerKind::attention:
    return "attention";
  case LayerKind::norm:
    return "norm";
  case LayerKind::row_norm:
    return "row_norm";
  case LayerKind::elementwise:
    return "elementwise";
  case LayerKind::pool:
    return "pool";
  case LayerKind::embedding:
    return "embedding";
  case LayerKind::copy:
    return "copy";
  case LayerKind::regroup:
    return "regroup";
  case LayerKind::tables:
    return "tables";
  }
  return "";
}

double Gemm::macs() const
{
  return static_cast<double>(count) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

namespace {

// Operations per element in training: mean 1, variance 3, normalising 2, and one each for gamma,
// beta.
constexpr double kNormFlops = 6.0;

// gelu: 0.5 x (1 + erf(x / sqrt 2)). swish: x / (1 + exp(-x)). softmax: compare, subtract, exp,
// add, divide. dropout: mask and scale, its random numbers not counted. scale_mask: attention
// scores / sqrt(head size) + mask; scale_scores: without mask. functions: evaluations of tanh; an
// exponential is taken as a quarter of one.
struct Elementwise {
  const char* op;
  double flops;
  double functions = 0;
};
constexpr Elementwise kElementwise[] = {
    {"relu", 1},          {"gelu", 5, 1},     {"tanh", 1, 1},
    {"sigmoid", 4, 0.25}, {"swish", 5, 0.25}, {"softmax", 5, 0.25},
    {"dropout", 2},       {"scale_mask", 2},  {"scale_scores", 1}};

double as_double(std::int64_t count)
{
  return static_cast<double>(count);
}

Layer moving(LayerKind kind, const Shape& input, const Shape& output)
{
  Layer layer;
  layer.kind = kind;
  layer.output = output;
  layer.input_elements = input.elements();
  layer.output_elements = output.elements();
  return layer;
}

void multiply(Layer& layer, const Gemm& gemm)
{
  layer.gemm = gemm;
  layer.macs = gemm.macs();
  layer.forward_flops = Flops(2.0 * layer.macs);
}

void train(Layer& layer, std::int64_t elements)
{
  layer.gradient_tensors.push_back(elements);
  layer.parameters += elements;
}

} // namespace

double minimal_filtering(const Window& window)
{
  const std::int64_t r = window.kernel.height;
  const bool square = r == window.kernel.width && window.kernel.depth == 1 && (r == 3 || r == 5);
  if (!square || window.stride.height != 1 || window.stride.width != 1)
    return 1.0;
  return 4.0 * as_double(r * r) / as_double((r + 1) * (r + 1));
}

Layer conv_layer(const Shape& input, const Window& window, std::int64_t out_channels,
                 std::int64_t groups, bool bias)
{
  const Pair out = window_output(input, window);
  Layer layer = moving(LayerKind::conv, input, Shape::image_of(out_channels, out));
  const std::int64_t k = input.features / groups * window.kernel.area();
  multiply(layer, {.count = groups, .m = out.area(), .n = out_channels / groups, .k = k});
  layer.minimal_filtering = minimal_filtering(window);
  layer.window = window.kernel.area();
  train(layer, k * out_channels);
  if (bias)
    train(layer, out_channels);
  return layer;
}

Layer transposed_conv_layer(const Shape& input, const Window& window, std::int64_t out_channels,
                            bool bias)
{
  const Pair extent{input.height * window.stride.height, input.width * window.stride.width,
                    input.depth * window.stride.depth};
  Layer layer = moving(LayerKind::conv, input, Shape::image_of(out_channels, extent));
  const std::int64_t n = out_channels * window.kernel.area();
  multiply(layer, {.count = 1, .m = input.positions(), .n = n, .k = input.features});
  layer.window = 1; // the products themselves have none: their results are added up
  train(layer, input.features * n);
  if (bias)
    train(layer, out_channels);
  return layer;
}

Layer linear_layer(const Shape& input, std::int64_t out_features, bool bias, bool tied)
{
  Layer layer = moving(LayerKind::linear, input, input.with_features(out_features));
  multiply(layer, {.count = 1, .m = input.positions(), .n = out_features, .k = input.features});
  if (tied)
    layer.borrowed_weights = input.features * out_features;
  else
    train(layer, input.features * out_features);
  if (bias)
    train(layer, out_features);
  return layer;
}

Layer batch_norm_layer(const Shape& input, bool scale)
{
  Layer layer = moving(LayerKind::norm, input, input);
  layer.forward_flops = Flops((kNormFlops + (scale ? 2.0 : 1.0)) * as_double(input.elements()));
  if (scale)
    train(layer, input.features);
  train(layer, input.features);
  layer.state_elements = 2 * input.features;
  return layer;
}

Layer frozen_batch_norm_layer(const Shape& input)
{
  Layer layer = elementwise_layer(input, 2);
  layer.state_elements = 4 * input.features;
  return layer;
}

Layer group_norm_layer(const Shape& input)
{
  Layer layer = batch_norm_layer(input, true);
  layer.state_elements = 0; // too many elements for one block of threads: read twice as a batch's
  return layer;
}

Layer layer_norm_layer(const Shape& input)
{
  Layer layer = batch_norm_layer(input, true);
  layer.kind = LayerKind::row_norm;
  layer.state_elements = 0;
  return layer;
}

Layer activation_layer(const Shape& input, const std::string& op)
{
  for (const Elementwise& known : kElementwise)
    if (op == known.op) {
      Layer layer = elementwise_layer(input, known.flops);
      layer.functions = known.functions * as_double(layer.output_elements);
      return layer;
    }
  return elementwise_layer(input, 0);
}

Layer elementwise_layer(const Shape& input, double flops_per_element)
{
  Layer layer = moving(LayerKind::elementwise, input, input);
  layer.forward_flops = Flops(flops_per_element * as_double(input.elements()));
  return layer;
}

Layer add_layer(const Shape& shape, std::int64_t terms)
{
  Layer layer = elementwise_layer(shape, as_double(terms - 1));
  layer.input_elements *= terms;
  return layer;
}

Layer multiply_layer(const Shape& input, const Shape& factors)
{
  Layer layer = elementwise_layer(input, 1);
  layer.input_elements += factors.elements();
  return layer;
}

Layer scale_layer(const Shape& input)
{
  Layer layer = elementwise_layer(input, 1);
  train(layer, input.features);
  return layer;
}

Layer pool_layer(const Shape& input, const Window& window, bool average)
{
  const Pair out = window_output(input, window);
  Layer layer = moving(LayerKind::pool, input, Shape::image_of(input.features, out));
  // Area - 1 comparisons or additions; an average divides once more.
  const std::int64_t area = window.kernel.area();
  layer.forward_flops =
      Flops(as_double(average ? area : area - 1) * as_double(layer.output_elements));
  return layer;
}

Layer global_avg_pool_layer(const Shape& input)
{
  Layer layer = moving(LayerKind::pool, input, Shape::vector(input.features));
  layer.forward_flops = Flops(as_double(input.elements()));
  return layer;
}

Layer embedding_layer(const Shape& ids, const std::vector<std::int64_t>& table_rows,
                      std::int64_t hidden, bool tied)
{
  const Shape output = Shape::sequence(ids.tokens, hidden);
  const auto tables = static_cast<std::int64_t>(table_rows.size());
  Layer layer = moving(LayerKind::embedding, output, output);
  layer.input_elements *= tables;
  layer.forward_flops = Flops(as_double(tables - 1) * as_double(output.elements()));
  if (tied)
    layer.borrowed_weights = table_rows.front() * hidden;
  for (std::size_t i = tied ? 1 : 0; i < table_rows.size(); ++i)
    train(layer, table_rows[i] * hidden);
  return layer;
}

Layer tables_layer(std::vector<TableSize> tables, std::int64_t hidden)
{
  std::int64_t rows = 0, looked_up = 0;
  for (const TableSize& table : tables) {
    rows += table.rows;
    looked_up += table.lookups;
  }
  const auto count = static_cast<std::int64_t>(tables.size());
  const Shape output = Shape::sequence(count, hidden);
  Layer layer = moving(LayerKind::tables, output, output);
  layer.input_elements = looked_up * hidden;
  layer.forward_flops = Flops(as_double((looked_up - count) * hidden));
  layer.divided_parameters = rows * hidden;
  layer.tables = std::move(tables);
  layer.exchanged_elements = output.elements();
  return layer;
}

Layer gathered_layer(const Shape& output)
{
  Layer layer = copy_layer(output);
  layer.gathers = true;
  return layer;
}

Layer interaction_layer(const Shape& input)
{
  const std::int64_t pairs = input.tokens * (input.tokens - 1) / 2;
  Layer layer = moving(LayerKind::attention, input, Shape::vector(pairs + input.features));
  multiply(layer, {.count = 1, .m = input.tokens, .n = input.tokens, .k = input.features});
  return layer;
}

namespace {

std::int64_t windows(const Shape& input, const AttentionSpan& span)
{
  return input.tokens / span.queries;
}

} // namespace

Layer position_scores_layer(const Shape& input, const AttentionSpan& span)
{
  Layer layer =
      moving(LayerKind::attention, input, Shape::sequence(input.tokens, span.heads * span.keys));
  multiply(layer, {.count = span.heads * windows(input, span),
                   .m = span.queries,
                   .n = span.keys,
                   .k = input.features / span.heads});
  return layer;
}

Layer attention_scores_layer(const Shape& input, const AttentionSpan& span)
{
  Layer layer = position_scores_layer(input, span);
  layer.input_elements += windows(input, span) * span.keys * input.features;
  return layer;
}

Layer attention_context_layer(const Shape& input, const AttentionSpan& span)
{
  Layer layer = moving(LayerKind::attention, input, input);
  layer.input_elements = windows(input, span) * span.keys * input.features // values
                         + span.heads * input.tokens * span.keys;          // and probabilities
  multiply(layer, {.count = span.heads * windows(input, span),
                   .m = span.queries,
                   .n = input.features / span.heads,
                   .k = span.keys});
  return layer;
}

// As one product whose sums are those of both.
Layer fused_attention_layer(const Shape& input, const AttentionSpan& span)
{
  Layer layer = moving(LayerKind::attention, input, input);
  layer.input_elements += 2 * windows(input, span) * span.keys * input.features;
  multiply(layer, {.count = span.heads * windows(input, span),
                   .m = span.queries,
                   .n = span.keys,
                   .k = 2 * (input.features / span.heads)});
  return layer;
}

Layer add_vector_layer(const Shape& input)
{
  Layer layer = elementwise_layer(input, 1);
  layer.input_elements += input.features;
  return layer;
}

Layer shared_projection_layer(const Shape& input, std::int64_t out_features)
{
  Layer layer;
  layer.kind = LayerKind::linear;
  layer.output = input;
  train(layer, input.features * out_features);
  return layer;
}

Layer borrowed(Layer layer)
{
  layer.borrowed_weights += layer.parameters;
  layer.parameters = 0;
  layer.gradient_tensors.clear();
  return layer;
}

Layer frozen_layer(Layer layer)
{
  layer.trained = false;
  layer.state_elements += layer.parameters;
  return borrowed(std::move(layer));
}

Layer position_bias_layer(const Shape& scores, std::int64_t rows, std::int64_t heads)
{
  Layer layer = elementwise_layer(scores, 1);
  train(layer, rows * heads);
  return layer;
}

Layer resized_layer(const Shape& input, const Shape& output, double flops_per_element)
{
  Layer layer = moving(LayerKind::copy, input, output);
  layer.forward_flops = Flops(flops_per_element * as_double(output.elements()));
  return layer;
}

Layer copy_layer(const Shape& output)
{
  return moving(LayerKind::copy, output, output);
}

// Four neighbours of four samples, a multiplication and an addition each; samples of one region
// share their neighbours in the caches, so that one value for each sample comes from memory.
Layer regions_layer(const Shape& output)
{
  Layer layer = moving(LayerKind::copy, output, output);
  layer.input_elements *= 4;
  layer.forward_flops = Flops(4 * 4 * 2.0 * as_double(output.elements()));
  return layer;
}

Layer regroup_layer(const Shape& shape)
{
  return moving(LayerKind::regroup, shape, shape);
}

} // namespace foretrain::models
