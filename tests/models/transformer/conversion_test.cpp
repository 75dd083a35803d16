// What it takes to make operands of eight bits and of four.
#include "models/transformer/conversion.hpp"
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::models::conversion_test {

using sim::Precision;

TEST_CASE("operands are read by each kernel that converts them, and written twice",
          "[models][transformer][closed-form]")
{
  const auto of = [](Precision precision, Fp8Scaling scaling = Fp8Scaling::delayed) {
    return conversion_of(precision, scaling, 2);
  };
  CHECK(of(Precision::bf16).kernels == 0);
  CHECK(of(Precision::bf16).bytes == 0);
  CHECK(of(Precision::fp8).bytes == 2 + 2);
  CHECK(of(Precision::fp8).kernels == 1);
  CHECK(of(Precision::fp8, Fp8Scaling::current).bytes == 2 * 2 + 2);
  CHECK(of(Precision::fp8, Fp8Scaling::current).kernels == 2);
  CHECK(of(Precision::fp8, Fp8Scaling::row).bytes == 4 * 2 + 2);
  CHECK(of(Precision::fp8, Fp8Scaling::row).kernels == 4);
  // A weight in each pass along one side: its maximum, its cast.
  CHECK(of(Precision::fp8, Fp8Scaling::row).weight_bytes == 2 + 2 + 1);
  CHECK(of(Precision::fp8, Fp8Scaling::current).weight_bytes == 0);
  CHECK(of(Precision::fp8, Fp8Scaling::block).bytes == Approx(2 + 2 * (1 + 4.0 / 128)));
  CHECK(of(Precision::fp8, Fp8Scaling::block).kernels == 1);
  CHECK(of(Precision::mxfp8).bytes == 2 + 2 * (1 + 1.0 / 32));
  CHECK(of(Precision::mxfp4).bytes == 2 + 2 * (0.5 + 1.0 / 32));
  CHECK(of(Precision::mxfp4).kernels == 1);
  // The maximum, rows, and columns behind a Hadamard transform.
  CHECK(of(Precision::nvfp4).bytes == 3 * 2 + 2 * (0.5 + 1.0 / 16));
  CHECK(of(Precision::nvfp4).kernels == 3);
}

TEST_CASE("a product converts its operand forward and its result's gradient backward",
          "[models][transformer][closed-form]")
{
  Transformer t;
  t.layers = 1;
  t.hidden = 1024;
  t.heads = 8;
  t.vocabulary = 1000;
  OperatorShape shape;
  shape.accumulate = 0;
  shape.operand = bytes_of(Precision::nvfp4);
  shape.conversion = conversion_of(Precision::nvfp4, Fp8Scaling::delayed, 2);
  for (const Operator& op : layer_operators(t, shape, kDenseLayer)) {
    if (op.name != "ffn up")
      continue;
    CHECK(op.product.operand_bytes == 0.5625);
    CHECK(op.forward_bytes == Approx(2048.0 * 1024 * 7.125));
    CHECK(op.backward_bytes == Approx(2048.0 * 4096 * 7.125));
    CHECK(op.forward_kernels == 1 + 3);
    CHECK(op.backward_kernels == 2 + 3);
  }
  shape.operand = 1;
  shape.conversion = conversion_of(Precision::fp8, Fp8Scaling::row, 2);
  for (const Operator& op : layer_operators(t, shape, kDenseLayer)) {
    if (op.name != "ffn up")
      continue;
    CHECK(op.forward_bytes == Approx(2048.0 * 1024 * 10 + 1024.0 * 4096 * 5));
    CHECK(op.backward_bytes == Approx(2048.0 * 4096 * 10 + 1024.0 * 4096 * 5));
  }
  // Logits stay in 16 bits.
  for (const Operator& op : output_operators(t, shape))
    if (op.weights)
      CHECK(op.product.operand_bytes == 2);
}

TEST_CASE("an operation fuser casts what an activation makes where it is made",
          "[models][transformer][closed-form]")
{
  Transformer t;
  t.layers = 1;
  t.hidden = 1024;
  t.heads = 8;
  t.gated = true;
  t.ffn = 4096;
  OperatorShape shape;
  const auto moved = [&](Precision precision, Fp8Scaling scaling, bool backward) {
    shape.conversion = conversion_of(precision, scaling, 2);
    for (const Operator& op : layer_operators(t, shape, kDenseLayer))
      if (op.name == "swiglu")
        return (backward ? op.backward_bytes : op.forward_bytes) / (2048.0 * 4096);
    return 0.0;
  };
  // Two halves read, one written; back both and a gradient read, two written.
  CHECK(moved(Precision::fp8, Fp8Scaling::delayed, false) == Approx(6));
  CHECK(moved(Precision::fp8, Fp8Scaling::delayed, true) == Approx(10));
  shape.op_fuser = true;
  // Neither is written, nor read by the cast that the product behind it counts, 2 + 2 each.
  CHECK(moved(Precision::fp8, Fp8Scaling::delayed, false) == Approx(6 - 4));
  CHECK(moved(Precision::fp8, Fp8Scaling::delayed, true) == Approx(10 - 2 * 4));
  // Where a maximum comes first, all is as it was; so is it in 16 bits.
  CHECK(moved(Precision::fp8, Fp8Scaling::current, true) == Approx(10));
  CHECK(moved(Precision::bf16, Fp8Scaling::delayed, false) == Approx(6));
}

} // namespace foretrain::models::conversion_test
