// What experts with biases and clamps, and rotations that scale, take where no kernel has them.
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::models::experts_test {

namespace {

// GPT-OSS 120B's layer, on eight GPUs that share its experts.
Transformer layer()
{
  Transformer t;
  t.layers = 1;
  t.hidden = 2880;
  t.heads = 64;
  t.kv_heads = 8;
  t.head_size = 64;
  t.ffn = 2880;
  t.gated = t.rotary = t.rotary_scaled = t.clamped = true;
  t.bias = true;
  t.experts = 128;
  t.top_k = 4;
  return t;
}

OperatorShape shape()
{
  OperatorShape s;
  s.sequence = 4096;
  s.expert = 8;
  s.fused_experts = s.fused_rotary_scale = false;
  return s;
}

Operator named(const Transformer& t, const OperatorShape& s, const std::string& name)
{
  Operator none;
  none.forward_kernels = none.backward_kernels = 0;
  const auto all = layer_operators(t, s, kExpertLayer);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Operator& op) { return op.name == name; });
  return found == all.end() ? none : *found;
}

} // namespace

TEST_CASE("experts' biases are multiplied and added in single precision, expert by expert",
          "[models][transformer][closed-form]")
{
  const double values = 4 * 4096 * 2880.0;
  const Operator bias = named(layer(), shape(), "expert bias");
  CHECK(bias.forward_bytes == Approx(values * 28));
  CHECK(bias.backward_bytes == Approx(values * 40));
  CHECK(bias.forward_kernels == 2 * 16 + 2);
  CHECK(bias.backward_kernels == 6 * 16 + 2);
  CHECK(bias.module == LayerModule::moe);
  // Under adapters biases have no gradient.
  OperatorShape adapted = shape();
  adapted.adapters = Adapters{};
  CHECK(named(layer(), adapted, "expert bias").backward_bytes == Approx(values * 28));
  Transformer without = layer();
  without.bias = false;
  CHECK(named(without, shape(), "expert bias").forward_bytes == 0);
}

TEST_CASE("halves of experts' gates are clamped one by one and brought together",
          "[models][transformer][closed-form]")
{
  const double values = 4 * 4096 * 2880.0;
  const Operator clamp = named(layer(), shape(), "clamp");
  CHECK(clamp.forward_bytes == Approx(values * 8 * 2));
  CHECK(clamp.backward_bytes == Approx(values * 10 * 2));
  CHECK(clamp.module == LayerModule::moe_act);
  Transformer without = layer();
  without.clamped = false;
  CHECK(named(without, shape(), "clamp").forward_bytes == 0);
  // A shared expert is no grouped one.
  Transformer dense = layer();
  dense.experts = 0;
  const auto all = layer_operators(dense, shape(), kDenseLayer);
  CHECK(
      std::none_of(all.begin(), all.end(), [](const Operator& op) { return op.name == "clamp"; }));
}

TEST_CASE("kernels that have biases and clamps take them with their products",
          "[models][transformer]")
{
  OperatorShape fused = shape();
  fused.fused_experts = true;
  CHECK(named(layer(), fused, "expert bias").forward_bytes == 0);
  CHECK(named(layer(), fused, "clamp").forward_bytes == 0);
}

TEST_CASE("a rotation that scales runs in steps where no kernel does both",
          "[models][transformer][closed-form]")
{
  const double values = 4096 * 72 * 64.0;
  CHECK(named(layer(), shape(), "rotary").forward_bytes == Approx(values * 12 * 2));
  CHECK(named(layer(), shape(), "rotary").backward_bytes == Approx(values * 17 * 2));
  OperatorShape fused = shape();
  fused.fused_rotary_scale = true;
  CHECK(named(layer(), fused, "rotary").forward_bytes == Approx(values * 2 * 2));
  Transformer plain = layer();
  plain.rotary_scaled = false;
  CHECK(named(plain, shape(), "rotary").backward_bytes == Approx(values * 2 * 2));
}

} // namespace foretrain::models::experts_test
