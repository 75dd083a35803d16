// Ops that make images larger, and that look at the same values as another shape.
#include "models/networks/network_ops.hpp"
#include "models/networks/network_window.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

struct TransposedConvSpec : CommonSpec {
  int out = 0;
  Value kernel;
  Value stride;
  bool bias = true;
  Value then;
};

template <class V>
void describe(V& v, TransposedConvSpec& s)
{
  describe_common(v, s);
  v.required("out", s.out, "output channels", between(1, kMaxDimension));
  v.required("kernel", s.kernel,
             "a number, [height, width], or of a volume [depth, height, width]");
  v.optional("stride", s.stride,
             "by how much the output is larger than the input, as kernel; 1 when left out");
  v.optional("bias", s.bias, "add a trainable bias to each output channel");
  v.optional("then", s.then, "layers that follow at once, usually batch_norm and relu");
}

void take_defaults(const LayerDefaults& defaults, TransposedConvSpec& s)
{
  s.bias = defaults.conv.bias;
  s.then = defaults.conv.then;
}

void transposed_conv(NetworkBuilder& builder, const Value& at, const TransposedConvSpec& s)
{
  builder.need(at, {Form::image});
  const Shape in = builder.shape();
  Window window;
  window.kernel = read_pair(s.kernel, 1, {1, 1}, in);
  window.stride = read_pair(s.stride, 1, {1, 1}, in);
  NetworkBuilder::check_size(at, "weights",
                             static_cast<double>(window.kernel.area()) *
                                 static_cast<double>(in.features) * s.out);
  NetworkBuilder::check_size(at, "outputs",
                             static_cast<double>(window.stride.area()) *
                                 static_cast<double>(in.positions()) * s.out);
  builder.emit(at, s.op, s.name, transposed_conv_layer(in, window, s.out, s.bias));
  if (s.then)
    builder.walk(s.then, true);
}

struct UpsampleSpec : CommonSpec {
  Value factor;
  bool linear = false;
};

template <class V>
void describe(V& v, UpsampleSpec& s)
{
  describe_common(v, s);
  v.required("factor", s.factor,
             "by how much each side grows: a number, [height, width], or of a volume [depth, "
             "height, width]");
  v.optional("linear", s.linear, "between neighbours, not the nearest one's value");
}

void upsample(NetworkBuilder& builder, const Value& at, const UpsampleSpec& s)
{
  builder.need(at, {Form::image});
  const Shape in = builder.shape();
  const Pair factor = read_pair(s.factor, 1, {1, 1}, in);
  const Shape out = Shape::image_of(
      in.features, {in.height * factor.height, in.width * factor.width, in.depth * factor.depth});
  NetworkBuilder::check_size(
      at, "outputs", static_cast<double>(factor.area()) * static_cast<double>(in.elements()));
  // A multiplication and an addition for each of 4 neighbours, of a volume 8.
  const double neighbours = in.depth > 1 ? 8 : 4;
  builder.emit(at, s.op, s.name, resized_layer(in, out, s.linear ? 2 * neighbours : 0));
}

void group_norm(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image});
  builder.emit(at, s.op, s.name, group_norm_layer(builder.shape()));
}

// A view: no kernel runs.
void tokens(NetworkBuilder& builder, const Value& at, const PlainSpec&)
{
  builder.need(at, {Form::image});
  const Shape in = builder.shape();
  builder.set_shape(Shape::sequence(in.positions(), in.features));
}

struct ImageSpec : CommonSpec {
  int height = 0, width = 0;
};

template <class V>
void describe(V& v, ImageSpec& s)
{
  describe_common(v, s);
  v.required("height", s.height, "in positions", between(1, kMaxDimension));
  v.required("width", s.width, "in positions", between(1, kMaxDimension));
}

void image(NetworkBuilder& builder, const Value& at, const ImageSpec& s)
{
  builder.need(at, {Form::sequence}, "put \"tokens\" before it");
  const Shape in = builder.shape();
  if (in.tokens != std::int64_t{s.height} * s.width)
    at.fail(fmt::format("must have as many positions as there are tokens, {}, got {} x {}",
                        in.tokens, s.height, s.width));
  builder.set_shape(Shape::image(in.features, s.height, s.width));
}

struct MergeSpec : CommonSpec {
  int count = 0;
};

template <class V>
void describe(V& v, MergeSpec& s)
{
  describe_common(v, s);
  v.required("count", s.count, "tokens that become one, as long as all of them",
             between(2, kMaxDimension));
}

void merge_tokens(NetworkBuilder& builder, const Value& at, const MergeSpec& s)
{
  builder.need(at, {Form::sequence}, "put \"tokens\" before it");
  const Shape in = builder.shape();
  if (in.tokens % s.count != 0)
    at.fail_at("count", fmt::format("must divide the {} tokens, got {}", in.tokens, s.count));
  builder.emit(at, s.op, s.name,
               copy_layer(Shape::sequence(in.tokens / s.count, in.features * s.count)));
}

constexpr Op kResizeOps[] = {
    make_op<TransposedConvSpec, &transposed_conv>(
        "transposed_conv", "convolution that makes an image or a volume larger"),
    make_op<UpsampleSpec, &upsample>("upsample", "a larger image of the same channels"),
    make_op<PlainSpec, &group_norm>("group_norm",
                                    "normalisation over all positions of groups of channels"),
    make_op<PlainSpec, &tokens>("tokens", "view an image's positions as a sequence; costs nothing"),
    make_op<ImageSpec, &image>("image", "view a sequence's tokens as the positions of an image; "
                                        "costs nothing"),
    make_op<MergeSpec, &merge_tokens>("merge_tokens", "neighbouring tokens as one longer token"),
};

} // namespace

std::span<const Op> resize_ops()
{
  return kResizeOps;
}

} // namespace foretrain::models
