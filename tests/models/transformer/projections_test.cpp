// Queries, keys and values, gate and up: of one product, or each of its own.
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

#include <map>

namespace foretrain::models::projections_test {

namespace {

Transformer gated_model()
{
  Transformer t;
  t.layers = 2;
  t.hidden = 1024;
  t.heads = 8;
  t.kv_heads = 2;
  t.head_size = 128;
  t.ffn = 4096;
  t.gated = t.rotary = true;
  return t;
}

constexpr double kTokens = 4096;

OperatorShape shape_of(bool joined)
{
  OperatorShape s;
  s.sequence = kTokens;
  s.joined = joined;
  return s;
}

struct Sums {
  double flops = 0;    // of products with weights
  double repeated = 0; // of them, where every second is kept
  double forward_bytes = 0;
  double backward_bytes = 0;
  std::map<std::string, double> kept;
};

Sums sums(const OperatorShape& shape, bool attention_gate = false)
{
  Sums all;
  Transformer t = gated_model();
  t.attention_gate = attention_gate;
  for (const Operator& op : layer_operators(t, shape, kDenseLayer)) {
    all.forward_bytes += op.forward_bytes;
    all.backward_bytes += op.backward_bytes;
    if (!op.weights)
      continue;
    all.flops += op.forward_flops().value();
    all.repeated += op.repeated * op.forward_flops().value();
    all.kept[op.name] = 1 - op.repeated;
  }
  return all;
}

} // namespace

TEST_CASE("products of one input multiply as much, each by itself or joined",
          "[models][transformer][closed-form]")
{
  const Sums joined = sums(shape_of(true));
  const Sums apart = sums(shape_of(false));
  CHECK(apart.flops == Approx(joined.flops));
  // Of seven products in a row every second is repeated: k, what follows attention, and up.
  CHECK(apart.repeated == Approx(joined.repeated));
  CHECK(apart.kept == std::map<std::string, double>{{"q", 1},
                                                    {"k", 0},
                                                    {"v", 1},
                                                    {"attention out", 0},
                                                    {"gate", 1},
                                                    {"ffn up", 0},
                                                    {"ffn down", 1}});
  CHECK(apart.forward_bytes == Approx(joined.forward_bytes));
  CHECK(sums(shape_of(false), true).flops == Approx(sums(shape_of(true), true).flops));
}

TEST_CASE("gradients of one input are added up where its products are apart",
          "[models][transformer][closed-form]")
{
  // Passes over the input of two bytes: three gradients of attention's, two of the other.
  const auto passes = [](OperatorShape s, OperatorShape joined) {
    return (sums(s).backward_bytes - sums(joined).backward_bytes) /
           (2 * kTokens * gated_model().hidden);
  };
  OperatorShape apart = shape_of(false);
  OperatorShape joined = shape_of(true);
  // The kernel of the norm before reads three and two in place of one each.
  CHECK(passes(apart, joined) == Approx(2 + 1));
  // One that is exchanged is written first.
  apart.tensor = joined.tensor = 2;
  CHECK(passes(apart, joined) == Approx(4 + 3));
  // Two are read and one is written for each that is added.
  apart.tensor = joined.tensor = 1;
  apart.fused = joined.fused = false;
  CHECK(passes(apart, joined) == Approx(3 * (2 + 1)));
}

TEST_CASE("an input is made narrower once, whatever takes it", "[models][transformer][closed-form]")
{
  OperatorShape apart = shape_of(false);
  OperatorShape joined = shape_of(true);
  for (OperatorShape* s : {&apart, &joined})
    s->conversion = {4, 2};
  CHECK(sums(apart).forward_bytes == Approx(sums(joined).forward_bytes));
  for (const Operator& op : layer_operators(gated_model(), apart, kDenseLayer))
    if (op.weights)
      CHECK(op.forward_kernels == (op.same_input ? 1 : 3));
}

namespace {

Operator named(const char* name, const Transformer& t, const OperatorShape& shape)
{
  for (const Operator& op : layer_operators(t, shape, kDenseLayer))
    if (op.name == name)
      return op;
  return {};
}

} // namespace

TEST_CASE("a gate beside its activation in steps moves what each step reads and writes",
          "[models][transformer][closed-form]")
{
  const Transformer t = gated_model();
  const double values = 2 * kTokens * 4096; // bytes of a pass
  OperatorShape shape = shape_of(true);
  CHECK(named("swiglu", t, shape).forward_bytes == Approx(3 * values));
  CHECK(named("swiglu", t, shape).backward_bytes == Approx(5 * values));
  shape.fused_activation = false;
  // Activation (2), product (3); two products of gradients (6), the activation's (3), and both
  // gradients brought together, read and written (4), but where gate and up are apart.
  CHECK(named("swiglu", t, shape).forward_bytes == Approx(5 * values));
  CHECK(named("swiglu", t, shape).backward_bytes == Approx(13 * values));
  shape.joined = false;
  CHECK(named("swiglu", t, shape).backward_bytes == Approx(9 * values));
  // Frameworks without fused kernels are not told how gate and up are made.
  shape.fused_activation = true;
  shape.joined = true;
  shape.fused = false;
  CHECK(named("swiglu", t, shape).backward_bytes == Approx(9 * values));
}

TEST_CASE("heads are copied before attention's kernel where it takes them so",
          "[models][transformer][closed-form]")
{
  Transformer t = gated_model();
  OperatorShape shape = shape_of(true);
  CHECK(named("heads copied", t, shape).name.empty());
  shape.copied_heads = true;
  // Of 8 heads of queries and 2 each of keys and values, 128 values of 2 bytes.
  const double head = 2 * kTokens * 128;
  CHECK(named("heads copied", t, shape).forward_bytes == Approx(2 * 12 * head));
  CHECK(named("heads copied", t, shape).backward_bytes == Approx(2 * 12 * head));
  CHECK(named("keys beside values", t, shape).forward_bytes == Approx(4 * 4 * head));
  CHECK(named("keys beside values", t, shape).backward_bytes == Approx(2 * 4 * head));
  // With as many heads of keys all three are brought together first, and copied behind that.
  t.kv_heads = 8;
  CHECK(named("heads copied", t, shape).forward_bytes == Approx(2 * 24 * head));
  CHECK(named("heads copied", t, shape).backward_bytes == Approx(4 * 24 * head));
}

} // namespace foretrain::models::projections_test
