// Attention of context-parallel ranks: parts of it, and their sums.
#include "models/transformer/compute.hpp"
#include "models/transformer/counts.hpp"
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::models::context_test {

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

TEST_CASE("a window as long as the sequence masks nothing more", "[models][transformer]")
{
  Transformer wide = small_model();
  for (const int window : {4096, 5000}) {
    wide.window = window;
    for (const int ranks : {1, 4}) {
      CAPTURE(window, ranks);
      const auto plain = attention_of(small_model(), ranks, OperatorKind::attention);
      const auto windowed = attention_of(wide, ranks, OperatorKind::attention);
      REQUIRE(windowed.size() == plain.size());
      for (std::size_t i = 0; i < plain.size(); ++i) {
        CHECK(windowed[i].attention.window == 0);
        CHECK(windowed[i].forward_flops() == plain[i].forward_flops());
      }
    }
    CHECK(forward_flops_per_token(wide, 4096, AttentionCount::full) ==
          forward_flops_per_token(small_model(), 4096, AttentionCount::full));
  }
}

TEST_CASE("all pairs of a window are as many for each token as the window", "[models][transformer]")
{
  Transformer narrow = small_model();
  narrow.window = 1024;
  const auto full = [](const Transformer& t) {
    return forward_flops_per_token(t, 4096, AttentionCount::full).value();
  };
  CHECK(full(small_model()) - full(narrow) == Approx(2.0 * 2 * (4096 - 1024) * 8 * 128));
  narrow.full_attention_every = 2;
  narrow.layers = 2;
  Transformer dense = small_model();
  dense.layers = 2;
  CHECK(full(dense) - full(narrow) == Approx(2.0 * 2 * (4096 - 1024) * 8 * 128));
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

TEST_CASE("where all keys are gathered a rank's two parts see half of them each",
          "[models][transformer][closed-form]")
{
  Transformer t = small_model();
  OperatorShape shape;
  shape.sequence = 4096;
  shape.context = 4;
  shape.context_gathered = true;
  const auto parts = [&] {
    std::vector<Operator> found;
    for (const Operator& op : layer_operators(t, shape, kDenseLayer))
      if (op.kind == OperatorKind::attention)
        found.push_back(op);
    return found;
  };
  const auto halves = parts();
  REQUIRE(halves.size() == 2);
  CHECK(halves[0].attention.queries == 512);
  CHECK(halves[0].attention.keys == 2048);
  CHECK_FALSE(halves[0].beside);
  CHECK(halves[1].beside);
  CHECK(flops(halves) == Approx(flops(attention_of(t, 1, OperatorKind::attention)) / 4));
  t.encoder = true;
  REQUIRE(parts().size() == 1);
  CHECK(parts()[0].attention.keys == 4096);
  CHECK(flops(parts()) == Approx(flops(attention_of(t, 1, OperatorKind::attention)) / 4));
}

TEST_CASE("ranks that share heads have fewer of longer parts", "[models][transformer][closed-form]")
{
  const Transformer t = small_model();
  OperatorShape shape;
  shape.sequence = 4096;
  shape.context = 4;
  const auto of = [&](int heads) {
    shape.context_heads = heads;
    std::vector<Operator> found;
    for (const Operator& op : layer_operators(t, shape, kDenseLayer))
      if (op.kind == OperatorKind::attention || op.name == "heads for tokens")
        found.push_back(op);
    return found;
  };
  // Two share heads: rings of two, of 2,048 queries with four heads and one of keys.
  const auto both = of(2);
  REQUIRE(both.size() == 4);
  CHECK(both[1].attention.queries == 2048);
  CHECK(both[1].attention.keys == 2048);
  CHECK(both[1].attention.heads == 4);
  CHECK(both[1].attention.kv_heads == 1);
  // What is sent of 1,024 tokens is read and written before, and again behind: eight heads of 128
  // of queries and of results, two of keys and of values.
  CHECK(both[0].forward_bytes == 4 * 1024.0 * (2 * 8 + 2 * 2) * 128 * 2);
  CHECK(of(1)[0].name != "heads for tokens");
  const double whole = flops(attention_of(t, 1, OperatorKind::attention));
  for (const int heads : {1, 2, 4})
    CHECK(flops(of(heads)) == Approx(whole / 4));
  REQUIRE(of(4).size() == 2);
  CHECK(of(4)[1].attention.queries == 4096);
  CHECK(of(4)[1].attention.heads == 2);
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

} // namespace foretrain::models::context_test
