// Ops that hold other layers.
#include "models/networks/network_ops.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

struct ResidualSpec : CommonSpec {
  Value main;
  Value shortcut;
  Value then;
};

template <class V>
void describe(V& v, ResidualSpec& s)
{
  describe_common(v, s);
  v.required("main", s.main, "layers of the main path");
  v.optional("shortcut", s.shortcut, "layers of the shortcut; the input itself when left out");
  v.optional("then", s.then, "layers that follow the addition at once");
}

void residual(NetworkBuilder& builder, const Value& at, const ResidualSpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  const Shape in = builder.shape();
  const Shape main = builder.walk_path(in, s.main, false);
  const Shape shortcut = s.shortcut ? builder.walk_path(in, s.shortcut, true) : in;
  if (main != shortcut)
    at.fail_at(s.shortcut ? "shortcut" : "main",
               fmt::format("does not fit: the main path makes {}, the shortcut {}", main.text(),
                           shortcut.text()),
               s.shortcut ? "" : "a shortcut with a 1x1 conv changes channels and stride");
  builder.emit(at, "add", "", add_layer(main, 2));
  if (s.then)
    builder.walk(s.then, true);
}

struct BranchesSpec : CommonSpec {
  Value paths;
};

template <class V>
void describe(V& v, BranchesSpec& s)
{
  describe_common(v, s);
  v.required("paths", s.paths, "lists of layers that all start from the same input");
}

// The lists of layers in `paths`; throws when there are fewer than `at_least`.
std::size_t count_paths(const Value& paths, std::size_t at_least)
{
  if (!paths.json().is_array())
    paths.fail("must be a list of lists of layers, got " + paths.shown());
  if (paths.json().size() < at_least)
    paths.fail(fmt::format("must hold at least {} lists of layers", at_least));
  return paths.json().size();
}

void branches(NetworkBuilder& builder, const Value& at, const BranchesSpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  const Shape in = builder.shape();
  std::vector<Shape> parts;
  for (std::size_t i = 0; i < count_paths(s.paths, 2); ++i) {
    const Value path = s.paths.at(i);
    builder.step(path);
    parts.push_back(builder.walk_path(in, path, true));
  }
  builder.concat(at, "", parts);
}

void heads(NetworkBuilder& builder, const Value&, const BranchesSpec& s)
{
  const NetworkBuilder::Scope scope(builder, s.name);
  const Shape in = builder.shape();
  for (std::size_t i = 0; i < count_paths(s.paths, 1); ++i) {
    builder.go_back_to(in);
    builder.walk(s.paths.at(i));
  }
  builder.set_shape(Shape{});
}

struct RepeatSpec : CommonSpec {
  int times = 0;
  Value body;
};

template <class V>
void describe(V& v, RepeatSpec& s)
{
  describe_common(v, s);
  v.required("times", s.times, "how often", between(1, 10000));
  v.required("body", s.body, "layers");
}

void repeat(NetworkBuilder& builder, const Value&, const RepeatSpec& s)
{
  for (int i = 0; i < s.times; ++i) {
    const NetworkBuilder::Scope scope(builder,
                                      s.name.empty() ? "" : fmt::format("{}.{}", s.name, i));
    builder.walk(s.body);
  }
}

void dense_block(NetworkBuilder& builder, const Value& at, const RepeatSpec& s)
{
  for (int i = 0; i < s.times; ++i) {
    const NetworkBuilder::Scope scope(builder,
                                      s.name.empty() ? "" : fmt::format("{}.{}", s.name, i));
    const Shape in = builder.shape();
    const Shape added = builder.walk_path(in, s.body, false);
    builder.concat(at, "", {in, added});
  }
}

constexpr Op kBlockOps[] = {
    make_op<ResidualSpec, &residual>("residual", "a main path and a shortcut, added"),
    make_op<BranchesSpec, &branches>("branches", "parallel paths, concatenated"),
    make_op<RepeatSpec, &dense_block>("dense_block",
                                      "repeat a body and concatenate it with its input"),
    make_op<RepeatSpec, &repeat>("repeat",
                                 "the same layers several times, each with its own weights"),
    make_op<BranchesSpec, &heads>("heads", "parallel ends of the network, each with its own loss"),
};

} // namespace

std::span<const Op> block_ops()
{
  return kBlockOps;
}

} // namespace foretrain::models
