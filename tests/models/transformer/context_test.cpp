// Attention of context-parallel ranks: parts of it, and their sums.
#include "models/transformer/compute.hpp"
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::models {

namespace {

Transformer small_model()
{
  Transformer t;
  t.layers = 1;
  t.hidden = 1024;
  t.heads = 8;
  t.kv_heads = 2;
  t.vocabulary = 1000;
  t.bias = false;
  return t;
}

std::vector<Operator> attention_of(const Transformer& t, int context, OperatorKind kind)
{
  OperatorShape shape;
  shape.sequence = 4096;
  shape.context = context;
  std::vector<Operator> found;
  for (const Operator& op : layer_operators(t, shape, kDenseLayer))
    if (op.kind == kind && (kind == OperatorKind::attention || op.name == "attention sum"))
      found.push_back(op);
  return found;
}

double flops(const std::vector<Operator>& operators)
{
  double sum = 0;
  for (const Operator& op : operators)
    sum += op.forward_flops().value();
  return sum;
}

} // namespace

TEST_CASE("context-parallel ranks share the pairs of an attention", "[models][transformer]")
{
  Transformer t = small_model();
  for (const bool encoder : {false, true}) {
    t.encoder = encoder;
    const double whole = flops(attention_of(t, 1, OperatorKind::attention));
    for (const int ranks : {2, 4, 8}) {
      CAPTURE(encoder, ranks);
      CHECK(flops(attention_of(t, ranks, OperatorKind::attention)) == Approx(whole / ranks));
    }
  }
}

TEST_CASE("of others' keys a rank takes half, or is half of the queries", "[models][transformer]")
{
  const auto parts = attention_of(small_model(), 4, OperatorKind::attention);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].attention.causal);
  CHECK(parts[0].attention.queries == 1024);
  CHECK(parts[0].attention.keys == 1024);
  CHECK(parts[0].share == 1);
  CHECK_FALSE(parts[0].beside);
  CHECK(parts[1].attention.queries == 1024);
  CHECK(parts[1].attention.keys == 512);
  CHECK(parts[1].share == 1.5);
  CHECK(parts[2].attention.queries == 512);
  CHECK(parts[2].attention.keys == 1024);
  CHECK(parts[2].beside);
}

TEST_CASE("parts are added up in single precision, gradients as they are",
          "[models][transformer][closed-form]")
{
  CHECK(attention_of(small_model(), 1, OperatorKind::memory).empty());
  const auto sums = attention_of(small_model(), 4, OperatorKind::memory);
  REQUIRE(sums.size() == 1);
  // Three quarters of three others' parts, of 1,024 tokens with eight heads of 128.
  const double elements = 0.75 * 3 * 1024 * 1024;
  CHECK(sums.front().forward_bytes == Approx(elements * (4 + 4 + 2)));
  // Of queries, and of keys and values of two heads.
  CHECK(sums.front().backward_bytes == Approx(elements * 2 * 3 * (1 + 2.0 * 2 / 8)));
}

TEST_CASE("of two attentions in turn one begins beside the other", "[models][transformer]")
{
  TransformerDevice device;
  device.attention.peak = 100e12;
  device.attention.memory = 1e12;
  device.attention.floor = 1e-3;
  Operator op = attention_of(small_model(), 4, OperatorKind::attention)[1];
  const double alone = [&] {
    op.beside = false;
    return forward_time(op, device).device.value();
  }();
  const double backward = backward_time(op, device).device.value();
  op.beside = true;
  CHECK(alone - forward_time(op, device).device.value() == Approx(1.5e-3));
  CHECK(backward - backward_time(op, device).device.value() == Approx(1.5e-3));
}

} // namespace foretrain::models
