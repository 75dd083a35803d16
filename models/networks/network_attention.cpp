// Attention: a fixed sequence of layers over one sequence, or over two.
#include "models/networks/network_ops.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

/// What makes queries, keys and values: a product each, whose gradients of their input kernels of
/// their own add up, or the products themselves; or one product.
enum class Projections { apart, adding, joined };
constexpr auto choices(Projections)
{
  return std::to_array<Choice<Projections>>({{Projections::apart, "apart"},
                                             {Projections::adding, "adding"},
                                             {Projections::joined, "joined"}});
}

struct AttentionSpec : CommonSpec {
  int heads = 1;
  bool bias = true;
  bool dropout = false;
  bool mask = true;
  Projections projections = Projections::apart;
  std::optional<int> window;
  int position_bias = 0;
  bool cross = false;
  int memory = 0;
  bool relative = false;
  bool fused = false;
};

template <class V>
void describe(V& v, AttentionSpec& s)
{
  describe_common(v, s);
  v.required("heads", s.heads, "number of heads; divides the hidden size",
             between(1, kMaxDimension));
  v.optional("bias", s.bias, "the four projections have a bias");
  v.optional("dropout", s.dropout, "dropout on the attention probabilities");
  v.optional("mask", s.mask, "a mask is added to the scores, where these are in memory");
  v.optional("projections", s.projections,
             "queries, keys and values are made by a product each, and gradients of what they are "
             "made of are added up by kernels (apart) or by the products that make them (adding); "
             "or by one product (joined; with \"cross\" keys and values)");
  v.optional("window", s.window,
             "tokens that attend to each other; divides their number, all when left out",
             between(1, kMaxDimension));
  v.optional("position_bias", s.position_bias,
             "rows of a trained table of biases for each head that is added to the scores",
             between(0, kMaxDimension));
  v.optional("cross", s.cross, "keys and values are those of the encoder before it");
  v.optional("memory", s.memory,
             "tokens of the segment before that are attended to as well (Transformer-XL)",
             between(0, kMaxDimension));
  v.optional("fused", s.fused, "one kernel does it all and writes no scores (FlashAttention)");
  v.optional("relative", s.relative,
             "scores with encoded distances, projected once a batch, beside those with keys "
             "(Transformer-XL)");
}

// What the keys and values are made of.
Shape attended(NetworkBuilder& builder, const Value& at, const AttentionSpec& s)
{
  const Shape in = builder.shape();
  if ((s.cross || s.memory > 0) && s.window)
    at.fail_at("window", "stands beside 'cross' or 'memory': windows are of the tokens themselves");
  if (!s.cross)
    return Shape::sequence(in.tokens + s.memory, in.features);
  if (s.memory > 0)
    at.fail_at("memory", "stands beside 'cross': the tokens attended to are the encoder's");
  if (!builder.encoded())
    at.fail_at("cross", "needs an encoder before it", "put {\"op\": \"encoder\", ...} first");
  return *builder.encoded();
}

void check_attention(NetworkBuilder& builder, const Value& at, const AttentionSpec& s,
                     const AttentionSpan& span, std::int64_t width)
{
  const Shape in = builder.shape();
  const auto hidden = static_cast<double>(in.features);
  NetworkBuilder::check_size(at, "weights", hidden * static_cast<double>(width));
  NetworkBuilder::check_size(
      at, "scores", s.heads * static_cast<double>(in.tokens) * static_cast<double>(span.keys));
}

// Queries, keys and values, side by side for each head where there are several: products of all
// heads want that order, so that they are copied to it (transpose_for_scores of BERT).
void project(NetworkBuilder& builder, const Value& at, const AttentionSpec& s, const Shape& others)
{
  const Shape in = builder.shape();
  // A segment and its memory are joined and projected together, the memory's queries thrown away.
  const Shape& asking = s.memory > 0 ? others : in;
  if (s.memory > 0)
    builder.emit(at, "concat", "with_memory", copy_layer(others));
  const bool joined = s.projections == Projections::joined;
  if (!joined || s.cross)
    builder.emit(at, "linear", "query", linear_layer(asking, in.features, s.bias));
  if (joined) {
    const std::int64_t made = s.cross ? 2 : 3;
    Layer layer = linear_layer(others, made * in.features, s.bias);
    layer.summed_gradients = s.cross ? 1 : 0; // to those of the decoder's other layers
    builder.emit(at, "linear", s.cross ? "key_value" : "query_key_value", std::move(layer));
  } else {
    for (const char* name : {"key", "value"}) {
      Layer layer = linear_layer(others, in.features, s.bias);
      layer.summed_gradients = s.projections == Projections::apart ? 1 : 0;
      builder.emit(at, "linear", name, std::move(layer));
    }
  }
  if (s.heads > 1)
    builder.emit(at, "regroup", "split_heads",
                 regroup_layer(Shape::sequence(in.tokens + 2 * others.tokens, in.features)));
}

// (q + u) k + (q + v) W r, Dai et al., arXiv:1901.02860, equation after (4). The scores with
// distances are padded and read one place further in each row, which moves them all.
void relative_scores(NetworkBuilder& builder, const Value& at, const Shape& in,
                     const AttentionSpan& span)
{
  builder.emit(at, "linear", "distance", shared_projection_layer(in, in.features));
  builder.emit(at, "add", "content_bias", elementwise_layer(in, 1));
  const Layer scores = attention_scores_layer(in, span);
  builder.emit(at, "scores", "scores", scores);
  builder.emit(at, "add", "distance_bias", elementwise_layer(in, 1));
  builder.emit(at, "scores", "distance_scores", position_scores_layer(in, span));
  builder.emit(at, "concat", "shift", copy_layer(scores.output));
  builder.emit(at, "add", "add_scores", add_layer(scores.output, 2));
}

void merge_heads(NetworkBuilder& builder, const Value& at, const AttentionSpec& s, const Shape& in)
{
  if (s.heads > 1)
    builder.emit(at, "regroup", "merge_heads", regroup_layer(in));
  builder.emit(at, "linear", "output", linear_layer(in, in.features, s.bias));
}

void attention(NetworkBuilder& builder, const Value& at, const AttentionSpec& s)
{
  builder.need(at, {Form::sequence}, "put an embedding before it");
  const Shape in = builder.shape();
  if (in.features % s.heads != 0)
    at.fail_at("heads",
               fmt::format("must divide the hidden size {}, got {}", in.features, s.heads));
  const std::int64_t window = s.window.value_or(static_cast<int>(in.tokens));
  if (s.fused && (s.relative || s.position_bias > 0))
    at.fail_at("fused", "stands beside 'relative' or 'position_bias', which change the scores");
  if (in.tokens % window != 0)
    at.fail_at("window", fmt::format("must divide the {} tokens, got {}", in.tokens, window));
  const Shape others = attended(builder, at, s);
  const AttentionSpan span{s.heads, window, s.window ? window : others.tokens};
  check_attention(builder, at, s, span, std::max(in.features, others.features));

  const NetworkBuilder::Scope scope(builder, s.name.empty() ? "attention" : s.name);
  project(builder, at, s, others);
  if (s.fused) {
    builder.emit(at, "fused", "fused", fused_attention_layer(in, span));
    merge_heads(builder, at, s, in);
    return;
  }
  const Layer scores = attention_scores_layer(in, span);
  if (s.relative)
    relative_scores(builder, at, in, span);
  else
    builder.emit(at, "scores", "scores", scores);
  if (s.position_bias > 0)
    builder.emit(at, "add", "position_bias",
                 position_bias_layer(scores.output, s.position_bias, s.heads));
  std::vector<const char*> functions{s.mask ? "scale_mask" : "scale_scores", "softmax"};
  if (s.dropout)
    functions.push_back("dropout");
  for (const char* op : functions)
    builder.emit(at, op, op, activation_layer(scores.output, op));
  builder.emit(at, "context", "context", attention_context_layer(in, span));
  merge_heads(builder, at, s, in);
}

struct EncoderSpec : CommonSpec {
  int tokens = 0;
  Value layers;
};

template <class V>
void describe(V& v, EncoderSpec& s)
{
  describe_common(v, s);
  v.required("tokens", s.tokens, "ids of the second input", between(1, kMaxDimension));
  v.required("layers", s.layers, "what is made of them, an embedding first; ends in a sequence");
}

void encoder(NetworkBuilder& builder, const Value& at, const EncoderSpec& s)
{
  builder.set_encoded(
      builder.walk_aside(at, s.name, Shape::ids(s.tokens), s.layers, Form::sequence, "a sequence"));
}

constexpr Op kAttentionOps[] = {
    make_op<AttentionSpec, &attention>("attention",
                                       "multi-head attention with its four projections"),
    make_op<EncoderSpec, &encoder>("encoder",
                                   "a second input and its layers, for attention with \"cross\""),
};

} // namespace

std::span<const Op> attention_ops()
{
  return kAttentionOps;
}

} // namespace foretrain::models
