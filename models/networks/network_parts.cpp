// Ops of detectors: ends on the way, layers that are not trained, regions of an image.
#include "models/networks/network_ops.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

struct BodySpec : CommonSpec {
  Value body;
};

template <class V>
void describe(V& v, BodySpec& s)
{
  describe_common(v, s);
  v.required("body", s.body, "layers");
}

void side(NetworkBuilder& builder, const Value&, const BodySpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  const Shape in = builder.shape();
  builder.walk(s.body);
  builder.go_back_to(in);
}

void frozen(NetworkBuilder& builder, const Value&, const BodySpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  builder.walk_frozen(s.body);
}

struct RegionsSpec : CommonSpec {
  int count = 0;
  int size = 0;
  bool flat = false;
};

template <class V>
void describe(V& v, RegionsSpec& s)
{
  describe_common(v, s);
  v.required("count", s.count, "regions of an image that are looked at, in the mean",
             between(2, kMaxDimension));
  v.required("size", s.size, "values on each side of a region", between(1, 1000));
  v.optional("flat", s.flat,
             "each region as one long token; else they lie behind one another in depth");
}

void regions(NetworkBuilder& builder, const Value& at, const RegionsSpec& s)
{
  builder.need(at, {Form::image});
  const std::int64_t features = builder.shape().features;
  const std::int64_t area = static_cast<std::int64_t>(s.size) * s.size;
  NetworkBuilder::check_size(at, "outputs", static_cast<double>(features * area) * s.count);
  const Shape made = s.flat ? Shape::sequence(s.count, features * area)
                            : Shape::volume(features, s.count, s.size, s.size);
  builder.emit(at, s.op, s.name, regions_layer(made));
}

constexpr Op kPartOps[] = {
    make_op<BodySpec, &side>("side", "an end on the way: what follows goes on from its input"),
    make_op<BodySpec, &frozen>("frozen", "layers that are not trained, before all that are"),
    make_op<RegionsSpec, &regions>("regions", "samples of an image in each of many boxes"),
};

} // namespace

std::span<const Op> part_ops()
{
  return kPartOps;
}

} // namespace foretrain::models
