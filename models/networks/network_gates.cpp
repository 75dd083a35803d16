// Ops that multiply: by what other layers make (squeeze-and-excitation), by trained numbers.
#include "models/networks/network_ops.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

struct MultiplySpec : CommonSpec {
  Value by;
};

template <class V>
void describe(V& v, MultiplySpec& s)
{
  describe_common(v, s);
  v.required("by", s.by,
             "layers from the same input to the factors: of its shape, or one for each channel");
}

void multiply(NetworkBuilder& builder, const Value& at, const MultiplySpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  builder.need(at, {Form::image, Form::sequence, Form::vector});
  const Shape in = builder.shape();
  const Shape factors = builder.walk_path(in, s.by, false);
  if (factors != in && (factors.features != in.features || factors.positions() != 1))
    at.fail_at(
        "by",
        fmt::format("does not fit: the input is {}, the factors are {}", in.text(), factors.text()),
        fmt::format("it has to end in {} or in {} features", in.text(), in.features));
  builder.emit(at, "multiply", "", multiply_layer(in, factors));
}

void scale(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::image, Form::sequence, Form::vector}, "put an embedding before it");
  builder.emit(at, s.op, s.name, scale_layer(builder.shape()));
}

constexpr Op kGateOps[] = {
    make_op<MultiplySpec, &multiply>("multiply", "the input times what other layers make of it"),
    make_op<PlainSpec, &scale>("scale", "times one trained number for each channel"),
};

} // namespace

std::span<const Op> gate_ops()
{
  return kGateOps;
}

} // namespace foretrain::models
