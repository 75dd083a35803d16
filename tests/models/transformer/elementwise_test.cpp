// What passes through memory between products, by how a framework computes it.
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

#include <map>
#include <string>

namespace foretrain::elementwise_test {

using namespace foretrain::models;

namespace {

constexpr double kTokens = 512, kHidden = 1024, kHeads = 16, kBatch = 2;
constexpr double kScores = kBatch * kHeads * kTokens * kTokens;

OperatorShape shape_of(Composition composed, bool autocast, bool fused = false)
{
  OperatorShape s;
  s.sequence = kTokens;
  s.micro_batch = kBatch;
  s.flash = false;
  s.fused = fused;
  s.composed = composed;
  s.autocast = autocast;
  return s;
}

// Bytes each way by operator, of one layer of BERT.
struct Traffic {
  double forward = 0, backward = 0;
  int launches = 0;
};

std::map<std::string, Traffic> layer(const OperatorShape& shape)
{
  Transformer t;
  t.layers = 1;
  t.hidden = static_cast<int>(kHidden);
  t.heads = static_cast<int>(kHeads);
  t.encoder = true;
  std::map<std::string, Traffic> result;
  for (const Operator& op : layer_operators(t, shape, kDenseLayer)) {
    Traffic& of = result[op.name];
    of.forward += op.forward_bytes;
    of.backward += op.backward_bytes;
    of.launches += op.forward_kernels + op.backward_kernels;
  }
  return result;
}

void expect(const Traffic& of, const Traffic& wanted)
{
  CHECK_THAT(of.forward, test::is(wanted.forward));
  CHECK_THAT(of.backward, test::is(wanted.backward));
  CHECK(of.launches == wanted.launches);
}

} // namespace

TEST_CASE("torch.autocast computes softmax and normalisation in single precision, between casts",
          "[transformer][closed-form]")
{
  const auto half = layer(shape_of(Composition::none, false));
  const auto mixed = layer(shape_of(Composition::none, true));
  const double values = kBatch * kTokens * kHidden, casts = 2 * 6;
  expect(mixed.at("ffn norm"),
         {values * (2 * 4 + casts), values * (5 * 4 + casts), half.at("ffn norm").launches});
  // Scaled and masked in half precision; the softmax reads that, and writes single, in which
  // dropout, whose mask is a byte, stays until it is cast back.
  CHECK_THAT(mixed.at("scale and mask").forward, test::is(kScores * 4 * 2));
  CHECK_THAT(mixed.at("softmax").forward, test::is(kScores * (2 + 4 + 8 + 1 + 6)));
  CHECK_THAT(mixed.at("softmax").backward, test::is(kScores * (8 + 2 + 8 + 1 + 6)));
  expect(mixed.at("gelu"), half.at("gelu"));
  // In single precision there is nothing to cast.
  OperatorShape single = shape_of(Composition::none, false);
  single.element = 4;
  CHECK_THAT(layer(single).at("ffn norm").forward, test::is(values * 2 * 4));
}

TEST_CASE("a transformer under TensorFlow is composed as its layers are", "[transformer][composed]")
{
  const double values = kBatch * kTokens * kHidden, inner = 4 * values, casts = 2 * 6;
  const auto of = [](const char* op, bool fused = false) {
    return *composed_operation(Composition::tensorflow, fused, op);
  };
  const auto expected = [&](const ComposedOperation& one, double elements, double width,
                            double converted) {
    return Traffic{elements * (one.forward * width + converted),
                   elements * (one.backward * width + converted),
                   one.forward_kernels + one.backward_kernels};
  };
  const auto plain = layer(shape_of(Composition::tensorflow, false));
  expect(plain.at("ffn norm"), expected(of("layer_norm"), values, 4, casts));
  expect(plain.at("gelu"), expected(of("gelu"), inner, 4, casts));
  expect(plain.at("softmax"), expected(of("softmax"), kScores, 2, 0));
  expect(plain.at("scale_mask"), expected(of("scale_mask"), kScores, 2, 0));
  // Of scores, and of what attention and the feed-forward part give.
  const Traffic scores = expected(of("dropout"), kScores, 2, 0);
  const Traffic part = expected(of("dropout"), values, 2, 0);
  expect(plain.at("dropout"), {scores.forward + 2 * part.forward,
                               scores.backward + 2 * part.backward, 3 * part.launches});
  expect(plain.at("attention residual"), {values * 5 * 2, values * 2, 4});
  // XLA ends kernels at sums, converts on the way, and leaves random numbers outside.
  const auto fused = layer(shape_of(Composition::tensorflow, false, true));
  expect(fused.at("ffn norm"), expected(of("layer_norm", true), values, 4, 0));
  expect(fused.at("softmax"), expected(of("softmax", true), kScores, 2, 0));
  CHECK(fused.count("scale_mask") == 0);
}

TEST_CASE("vision transformers neither mask nor drop", "[transformer][closed-form]")
{
  Transformer t;
  t.layers = 1;
  t.hidden = static_cast<int>(kHidden);
  t.heads = static_cast<int>(kHeads);
  t.encoder = true;
  t.patch_values = 768;
  const double values = kBatch * kTokens * kHidden;
  for (const bool autocast : {false, true})
    for (const Operator& op : layer_operators(t, shape_of(Composition::none, autocast), {}))
      if (op.name == "attention residual") {
        CHECK_THAT(op.forward_bytes, test::is(values * 3 * 2));
        CHECK_THAT(op.backward_bytes, test::is(values * 3 * 2));
      } else if (op.name == "scale and mask") {
        CHECK_THAT(op.forward_bytes, test::is(kScores * 2 * 2));
      } else if (op.name == "softmax") {
        CHECK_THAT(op.forward_bytes, test::is(kScores * (autocast ? 12 : 8)));
        CHECK_THAT(op.backward_bytes, test::is(kScores * (autocast ? 16 : 10)));
        CHECK(op.forward_kernels == (autocast ? 1 : 2));
      }
}

} // namespace foretrain::elementwise_test
