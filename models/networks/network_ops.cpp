#include "models/networks/network_ops.hpp"

#include "models/networks/network_window.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

constexpr const char* kNeedsFlat = "put \"flatten\" or \"global_avg_pool\" before it";
constexpr const char* kNeedsEmbedding = "put an embedding before it";

struct ConvSpec : CommonSpec {
  int out = 0;
  Value kernel;
  Value stride;
  int groups = 1;
  bool tied = false;
  bool bias = true;
  Value padding;
  Value then;
};

template <class V>
void describe(V& v, ConvSpec& s)
{
  describe_common(v, s);
  v.required("out", s.out, "output channels", between(1, kMaxDimension));
  v.required("kernel", s.kernel,
             "a number, [height, width], or of a volume [depth, height, width]");
  v.optional("stride", s.stride, "as kernel; 1 when left out");
  v.optional("groups", s.groups, "channels are split in so many independent groups",
             between(1, kMaxDimension));
  v.optional("tied", s.tied, "weight and bias are those of a conv of the same size before it");
  ConvDefaults shared{s.bias, s.padding, s.then};
  describe(v, shared);
  s.bias = shared.bias;
  s.padding = shared.padding;
  s.then = shared.then;
}

void take_defaults(const LayerDefaults& defaults, ConvSpec& s)
{
  s.bias = defaults.conv.bias;
  s.padding = defaults.conv.padding;
  s.then = defaults.conv.then;
}

void conv(NetworkBuilder& builder, const Value& at, const ConvSpec& s)
{
  builder.need(at, {Form::image});
  const Shape in = builder.shape();
  const Window window = read_window(at, s.kernel, s.stride, s.padding, in, {1, 1}, true);
  if (in.features % s.groups != 0)
    at.fail_at("groups",
               fmt::format("must divide the {} input channels, got {}", in.features, s.groups));
  if (s.out % s.groups != 0)
    at.fail_at("out", fmt::format("must be divisible by groups ({}), got {}", s.groups, s.out));
  const double area = static_cast<double>(window.kernel.area());
  const std::int64_t per_group = in.features / s.groups;
  NetworkBuilder::check_size(at, "weights", area * static_cast<double>(per_group) * s.out);
  const Pair out = window_output(in, window);
  NetworkBuilder::check_size(at, "outputs", static_cast<double>(out.area()) * s.out);
  Layer layer = conv_layer(in, window, s.out, s.groups, s.bias);
  if (!s.tied) {
    builder.add_conv(layer);
  } else {
    if (!builder.has_conv(layer))
      at.fail_at("tied", fmt::format("needs a conv of {} weights {} a bias before it",
                                     layer.gradient_tensors.front(), s.bias ? "with" : "without"));
    layer = borrowed(std::move(layer));
  }
  builder.emit(at, s.op, s.name, std::move(layer));
  if (s.then)
    builder.walk(s.then, true);
}

struct LinearSpec : CommonSpec {
  int out = 0;
  bool tied = false;
  bool bias = true;
  Value then;
};

template <class V>
void describe(V& v, LinearSpec& s)
{
  describe_common(v, s);
  v.required("out", s.out, "output features", between(1, kMaxDimension));
  v.optional("tied", s.tied,
             "the weight is that of an embedding before it, or its first rows, transposed");
  LinearDefaults shared{s.bias, s.then};
  describe(v, shared);
  s.bias = shared.bias;
  s.then = shared.then;
}

void take_defaults(const LayerDefaults& defaults, LinearSpec& s)
{
  s.bias = defaults.linear.bias;
  s.then = defaults.linear.then;
}

void linear(NetworkBuilder& builder, const Value& at, const LinearSpec& s)
{
  builder.need(at, {Form::vector, Form::sequence},
               builder.shape().form == Form::ids ? kNeedsEmbedding : kNeedsFlat);
  const Shape in = builder.shape();
  NetworkBuilder::check_size(at, "weights", static_cast<double>(in.features) * s.out);
  NetworkBuilder::check_size(at, "outputs", static_cast<double>(in.positions()) * s.out);
  if (s.tied && !builder.has_table(s.out, in.features))
    at.fail_at("tied", fmt::format("needs an embedding of {} x {} before it", s.out, in.features));
  builder.emit(at, s.op, s.name, linear_layer(in, s.out, s.bias, s.tied));
  if (s.then)
    builder.walk(s.then, true);
}

struct BatchNormSpec : CommonSpec {
  bool scale = true;
  bool frozen = false;
};

template <class V>
void describe(V& v, BatchNormSpec& s)
{
  describe_common(v, s);
  BatchNormDefaults shared{s.scale, s.frozen};
  describe(v, shared);
  s.scale = shared.scale;
  s.frozen = shared.frozen;
}

void take_defaults(const LayerDefaults& defaults, BatchNormSpec& s)
{
  s.scale = defaults.batch_norm.scale;
  s.frozen = defaults.batch_norm.frozen;
}

void batch_norm(NetworkBuilder& builder, const Value& at, const BatchNormSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, kNeedsEmbedding);
  builder.emit(at, s.op, s.name,
               s.frozen ? frozen_batch_norm_layer(builder.shape())
                        : batch_norm_layer(builder.shape(), s.scale));
}

void layer_norm(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, kNeedsEmbedding);
  builder.emit(at, s.op, s.name, layer_norm_layer(builder.shape()));
}

void elementwise(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, kNeedsEmbedding);
  builder.emit(at, s.op, s.name, activation_layer(builder.shape(), s.op));
}

struct SoftmaxSpec : CommonSpec {
  bool half = false;
};

template <class V>
void describe(V& v, SoftmaxSpec& s)
{
  describe_common(v, s);
  v.optional("half", s.half,
             "a loss that the model itself computes: behind a linear layer it is in half precision "
             "where the network is and the framework does not cast it; else losses are in single");
}

void softmax(NetworkBuilder& builder, const Value& at, const SoftmaxSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, kNeedsEmbedding);
  Layer layer = activation_layer(builder.shape(), s.op);
  layer.half_loss = s.half;
  builder.emit(at, s.op, s.name, std::move(layer));
}

struct LrnSpec : CommonSpec {
  int size = 5;
};

template <class V>
void describe(V& v, LrnSpec& s)
{
  describe_common(v, s);
  v.optional("size", s.size, "channels summed over", between(1, 1000));
}

void lrn(NetworkBuilder& builder, const Value& at, const LrnSpec& s)
{
  builder.need(at, {Form::image});
  // x / (k + alpha sum of size squares)^beta: square, size - 1 additions, two for k and alpha,
  // power, divide.
  Layer layer = elementwise_layer(builder.shape(), s.size + 4.0);
  layer.kind = LayerKind::norm;
  builder.emit(at, s.op, s.name, std::move(layer));
}

struct PoolSpec : CommonSpec {
  Value kernel;
  Value stride;
  Value padding;
};

template <class V>
void describe(V& v, PoolSpec& s)
{
  describe_common(v, s);
  v.required("kernel", s.kernel,
             "a number, [height, width], or of a volume [depth, height, width]");
  v.optional("stride", s.stride, "as kernel; the kernel when left out");
  v.optional("padding", s.padding, "\"valid\" (none, the default), \"same\", or pixels as kernel");
}

void pool(NetworkBuilder& builder, const Value& at, const PoolSpec& s)
{
  builder.need(at, {Form::image});
  const Shape in = builder.shape();
  const Pair kernel = read_pair(s.kernel, 1, {1, 1}, in);
  const Window window = read_window(at, s.kernel, s.stride, s.padding, in, kernel, false);
  const Pair out = window_output(in, window);
  NetworkBuilder::check_size(at, "outputs",
                             static_cast<double>(out.area()) * static_cast<double>(in.features));
  builder.emit(at, s.op, s.name, pool_layer(in, window, s.op == "avg_pool"));
}

void global_avg_pool(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image, Form::sequence});
  builder.emit(at, s.op, s.name, global_avg_pool_layer(builder.shape()));
}

// A view: no kernel runs, so no layer is written down.
void flatten(NetworkBuilder& builder, const Value& at, const PlainSpec&)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, kNeedsEmbedding);
  builder.set_shape(Shape::vector(builder.shape().elements()));
}

struct EmbeddingSpec : CommonSpec {
  int vocab = 0;
  int hidden = 0;
  std::optional<int> positions;
  std::optional<int> token_types;
  bool tied = false;
};

template <class V>
void describe(V& v, EmbeddingSpec& s)
{
  describe_common(v, s);
  v.required("vocab", s.vocab, "rows of the table", between(1, 1e9));
  v.required("hidden", s.hidden, "values per token", between(1, kMaxDimension));
  v.optional("positions", s.positions, "rows of a second table, of learned positions",
             between(1, kMaxDimension));
  v.optional("token_types", s.token_types, "rows of a third table, of segments",
             between(1, kMaxDimension));
  v.optional("tied", s.tied, "the table is that of an embedding before it");
}

void embedding(NetworkBuilder& builder, const Value& at, const EmbeddingSpec& s)
{
  builder.need(at, {Form::ids}, "an embedding stands first, with \"input\": {\"tokens\": ...}");
  const Shape in = builder.shape();
  if (s.positions && in.tokens > *s.positions)
    at.fail_at("positions",
               fmt::format("({}) is less than the sequence length {}", *s.positions, in.tokens));
  std::vector<std::int64_t> rows{s.vocab};
  for (const auto& more : {s.positions, s.token_types})
    if (more)
      rows.push_back(*more);
  for (const std::int64_t count : rows)
    NetworkBuilder::check_size(at, "weights", static_cast<double>(count) * s.hidden);
  NetworkBuilder::check_size(at, "outputs", static_cast<double>(in.tokens) * s.hidden);
  if (s.tied && !builder.has_table(s.vocab, s.hidden))
    at.fail_at("tied", fmt::format("needs an embedding of {} x {} before it", s.vocab, s.hidden));
  builder.add_table(s.vocab, s.hidden);
  builder.emit(at, s.op, s.name, embedding_layer(in, rows, s.hidden, s.tied));
}

void first_token(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::sequence});
  builder.emit(at, s.op, s.name, copy_layer(Shape::vector(builder.shape().features)));
}

struct GatherSpec : CommonSpec {
  int count = 0;
};

template <class V>
void describe(V& v, GatherSpec& s)
{
  describe_common(v, s);
  v.required("count", s.count, "tokens that what follows looks at", between(1, kMaxDimension));
}

void gather_tokens(NetworkBuilder& builder, const Value& at, const GatherSpec& s)
{
  builder.need(at, {Form::sequence});
  const Shape in = builder.shape();
  if (s.count > in.tokens)
    at.fail_at("count", fmt::format("must be at most the {} tokens, got {}", in.tokens, s.count));
  builder.emit(at, s.op, s.name, copy_layer(Shape::sequence(s.count, in.features)));
}

constexpr Op kSimpleOps[] = {
    make_op<ConvSpec, &conv>("conv", "2-D convolution, or 3-D of volumes"),
    make_op<LinearSpec, &linear>("linear", "fully connected layer; on a sequence, for every token"),
    make_op<BatchNormSpec, &batch_norm>("batch_norm", "batch normalisation over channels"),
    make_op<PlainSpec, &layer_norm>("layer_norm", "layer normalisation over channels or hidden"),
    make_op<LrnSpec, &lrn>("lrn", "local response normalisation across channels"),
    make_op<PlainSpec, &elementwise>("relu", "max(x, 0)"),
    make_op<PlainSpec, &elementwise>("gelu", "x times the normal distribution function of x"),
    make_op<PlainSpec, &elementwise>("tanh", "hyperbolic tangent"),
    make_op<PlainSpec, &elementwise>("sigmoid", "1 / (1 + exp(-x))"),
    make_op<PlainSpec, &elementwise>("swish", "x times sigmoid(x), also called SiLU"),
    make_op<SoftmaxSpec, &softmax>("softmax", "exp(x) over its sum"),
    make_op<PlainSpec, &elementwise>("dropout", "zero some activations, scale the others"),
    make_op<PoolSpec, &pool>("max_pool", "maximum over a window"),
    make_op<PoolSpec, &pool>("avg_pool", "mean over a window"),
    make_op<PlainSpec, &global_avg_pool>("global_avg_pool",
                                         "mean over height and width, or over tokens"),
    make_op<PlainSpec, &flatten>("flatten", "view as a vector; costs nothing"),
    make_op<EmbeddingSpec, &embedding>("embedding", "token ids to vectors"),
    make_op<PlainSpec, &first_token>("first_token", "the first token of a sequence, as a vector"),
    make_op<GatherSpec, &gather_tokens>("gather_tokens", "some tokens of a sequence"),
};

} // namespace

std::span<const Op> simple_ops()
{
  return kSimpleOps;
}

std::vector<const Op*> all_ops()
{
  std::vector<const Op*> ops;
  for (const std::span<const Op> table : {simple_ops(), gate_ops(), resize_ops(), block_ops(),
                                          attention_ops(), part_ops(), table_ops()})
    for (const Op& op : table)
      ops.push_back(&op);
  return ops;
}

const Op& find_op(const Value& word)
{
  const auto name = word.json().get<std::string>();
  std::vector<std::string> names;
  for (const Op* op : all_ops()) {
    if (name == op->name)
      return *op;
    names.emplace_back(op->name);
  }
  word.fail("is not a known op: '" + excerpt(name) + "'", suggestion(name, names, "ops"));
}

void build_op(NetworkBuilder& builder, const Value& word, const Value& item)
{
  find_op(word).build(builder, item);
}

void check_name(const Value& at, const std::string& name)
{
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (name.size() > 40 || !std::all_of(name.begin(), name.end(), plain))
    at.fail_at("name",
               "must be at most 40 letters, digits, '_', '-' or '.', got " + at.at("name").shown());
}

} // namespace foretrain::models
