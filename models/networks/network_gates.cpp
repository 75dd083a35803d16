// Ops that multiply, by what other layers make (squeeze-and-excitation, gated linear units) or by
// trained numbers, and that add what is made of a second input.
#include "models/networks/network_ops.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

struct MultiplySpec : CommonSpec {
  Value main;
  Value by;
};

template <class V>
void describe(V& v, MultiplySpec& s)
{
  describe_common(v, s);
  v.optional("main", s.main, "layers to what is multiplied; the input itself when left out");
  v.required("by", s.by,
             "layers from the same input to the factors: of that shape, or one for each channel");
}

void multiply(NetworkBuilder& builder, const Value& at, const MultiplySpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  builder.need(at, {Form::image, Form::sequence, Form::vector});
  const Shape from = builder.shape();
  const Shape in = s.main ? builder.walk_path(from, s.main, false) : from;
  const Shape factors = builder.walk_path(from, s.by, false);
  if (factors != in && (factors.features != in.features || factors.positions() != 1))
    at.fail_at("by",
               fmt::format("does not fit: {} is {}, the factors are {}",
                           s.main ? "main" : "the input", in.text(), factors.text()),
               fmt::format("it has to end in {} or in {} features", in.text(), in.features));
  builder.emit(at, "multiply", "", multiply_layer(in, factors));
}

void scale(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, "put an embedding before it");
  builder.emit(at, s.op, s.name, scale_layer(builder.shape()));
}

struct ConditionSpec : CommonSpec {
  int features = 0;
  Value layers;
};

template <class V>
void describe(V& v, ConditionSpec& s)
{
  describe_common(v, s);
  v.required("features", s.features, "of the second input, a vector", between(1, kMaxDimension));
  v.required("layers", s.layers, "what is made of them; ends in a vector");
}

void condition(NetworkBuilder& builder, const Value& at, const ConditionSpec& s)
{
  builder.set_condition(builder.walk_aside(at, s.name, Shape::vector(s.features), s.layers,
                                           Form::vector, "a vector"));
}

// x + W swish(condition), at each position.
void add_condition(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector});
  if (!builder.condition())
    at.fail("needs a condition before it", "put {\"op\": \"condition\", ...} first");
  const NetworkBuilder::Scope scope(builder, s.name);
  const Shape in = builder.shape();
  builder.emit(at, "swish", "", activation_layer(*builder.condition(), "swish"));
  builder.emit(at, "linear", "", linear_layer(*builder.condition(), in.features, true));
  builder.emit(at, "add", "", add_vector_layer(in));
}

constexpr Op kGateOps[] = {
    make_op<MultiplySpec, &multiply>("multiply", "the input times what other layers make of it"),
    make_op<ConditionSpec, &condition>("condition",
                                       "a second input, such as a time step, and its layers"),
    make_op<PlainSpec, &add_condition>(
        "add_condition", "adds what a linear layer of its own makes of the condition"),
    make_op<PlainSpec, &scale>("scale", "times one trained number for each channel"),
};

} // namespace

std::span<const Op> gate_ops()
{
  return kGateOps;
}

} // namespace foretrain::models
