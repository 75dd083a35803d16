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

OperatorShape shape_of(Composition composed, Autocast autocast, bool fused = false)
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
  const bool fp16 = GENERATE(true, false);
  const auto half = layer(shape_of(Composition::none, Autocast::none));
  const auto mixed = layer(shape_of(Composition::none, fp16 ? Autocast::fp16 : Autocast::bf16));
  const double values = kBatch * kTokens * kHidden, casts = 2 * 6;
  expect(mixed.at("ffn norm"),
         {values * (2 * 4 + casts), values * (5 * 4 + casts), half.at("ffn norm").launches});
  // Scaled and masked in half precision. The softmax of fp16 reads that and writes single, that of
  // bf16 has a cast before it; dropout, whose mask is a byte, stays single until it is cast back.
  expect(mixed.at("scale and mask"), {kScores * 4 * 2, kScores * 2 * 2, 3});
  const double taken = fp16 ? 2 : 6 + 4;
  expect(mixed.at("softmax"), {kScores * (taken + 4), kScores * (8 + taken), 2});
  const double dropped = 2 * values * (2 * 2 + 1); // of both parts, with their sums
  CHECK_THAT(mixed.at("dropout").forward, test::is(kScores * (8 + 1)));
  expect(mixed.at("cast"), {kScores * 6, kScores * 6, 0});
  CHECK_THAT(mixed.at("attention residual").forward + mixed.at("ffn residual").forward,
             test::is(dropped + 2 * values * 3 * 2));
  CHECK_THAT(half.at("softmax").forward, test::is(kScores * 2 * 2));
  CHECK_THAT(half.at("dropout").forward, test::is(kScores * (2 * 2 + 1)));
  expect(mixed.at("gelu"), half.at("gelu"));
  // In single precision there is nothing to cast.
  OperatorShape single = shape_of(Composition::none, Autocast::none);
  single.element = 4;
  CHECK_THAT(layer(single).at("ffn norm").forward, test::is(values * 2 * 4));
}

TEST_CASE("logits in half precision become a loss in single", "[transformer][closed-form]")
{
  Transformer t;
  t.layers = 1;
  t.hidden = static_cast<int>(kHidden);
  t.heads = static_cast<int>(kHeads);
  t.vocabulary = 1000;
  const double logits = kBatch * kTokens * 1000;
  const auto loss = [&](Autocast autocast, double element) {
    OperatorShape shape = shape_of(Composition::none, autocast);
    shape.loss = LossKernels::pytorch;
    shape.element = element;
    return output_operators(t, shape).back();
  };
  // The script casts, or autocast does for bf16: 6 bytes each way; the gradient of the words' own
  // is put among zeros, and read beside the result.
  for (const Autocast one : {Autocast::none, Autocast::bf16}) {
    CHECK_THAT(loss(one, 2).forward_bytes, test::is(logits * (6 + 4 + 4)));
    CHECK_THAT(loss(one, 2).backward_bytes, test::is(logits * (4 + 8 + 4 + 6)));
    CHECK(loss(one, 2).forward_kernels == 4);
  }
  CHECK_THAT(loss(Autocast::fp16, 2).forward_bytes, test::is(logits * (2 + 4)));
  CHECK_THAT(loss(Autocast::fp16, 2).backward_bytes, test::is(logits * (4 + 8 + 2)));
  CHECK(loss(Autocast::fp16, 2).forward_kernels == 3);
  CHECK_THAT(loss(Autocast::none, 4).forward_bytes, test::is(logits * (4 + 4)));
  CHECK_THAT(loss(Autocast::none, 4).backward_bytes, test::is(logits * (4 + 8 + 4)));
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
  const auto plain = layer(shape_of(Composition::tensorflow, Autocast::none));
  expect(plain.at("ffn norm"), expected(of("layer_norm"), values, 4, casts));
  expect(plain.at("gelu"), expected(of("gelu"), inner, 4, casts));
  expect(plain.at("softmax"), expected(of("softmax"), kScores, 2, 0));
  expect(plain.at("scale and mask"), expected(of("scale_mask"), kScores, 2, 0));
  // Of scores, and of what attention and the feed-forward part give.
  const Traffic scores = expected(of("dropout"), kScores, 2, 0);
  const Traffic part = expected(of("dropout"), values, 2, 0);
  expect(plain.at("dropout"), {scores.forward + 2 * part.forward,
                               scores.backward + 2 * part.backward, 3 * part.launches});
  // Bias and sum; backward the bias' gradient, and both ways' added up.
  expect(plain.at("attention residual"), {values * 5 * 2, values * (1 + 3) * 2, 4});
  // XLA ends kernels at sums, converts on the way, and leaves random numbers outside.
  const auto fused = layer(shape_of(Composition::tensorflow, Autocast::none, true));
  expect(fused.at("ffn norm"), expected(of("layer_norm", true), values, 4, 0));
  expect(fused.at("softmax"), expected(of("softmax", true), kScores, 2, 0));
  CHECK(fused.count("scale and mask") == 0);
}

TEST_CASE("scores are masked and parts dropped where the model says so",
          "[transformer][closed-form]")
{
  Transformer t;
  t.layers = 1;
  t.hidden = static_cast<int>(kHidden);
  t.heads = static_cast<int>(kHeads);
  t.encoder = true;
  CHECK((t.masks() && t.drops() && !t.joins()));
  SECTION("images are not, unless it does")
  {
    t.patch_values = 768;
    CHECK((!t.masks() && !t.drops() && t.joins()));
  }
  SECTION("nor is what says so")
  {
    t.attention_mask = t.dropout = false;
    t.joined_projections = true;
    CHECK((!t.masks() && !t.drops() && t.joins()));
  }
  const double values = kBatch * kTokens * kHidden;
  for (const Autocast autocast : {Autocast::none, Autocast::fp16}) {
    const bool drops = t.drops();
    for (const Operator& op : layer_operators(t, shape_of(Composition::none, autocast), {}))
      if (op.name == "attention residual") { // backward a bias, and both ways' gradients added up
        CHECK_THAT(op.forward_bytes, test::is(values * (3 * 2 + (drops ? 5 : 0))));
        CHECK_THAT(op.backward_bytes, test::is(values * (4 * 2 + (drops ? 5 : 0))));
        CHECK(op.backward_kernels == (drops ? 3 : 2));
      } else if (op.name == "scale and mask") {
        CHECK_THAT(op.forward_bytes, test::is(kScores * (t.masks() ? 4 : 2) * 2));
        CHECK_THAT(op.backward_bytes, test::is(kScores * 2 * 2));
      } else {
        CHECK((op.name != "dropout" || drops));
      }
  }
  // A fused kernel reads and writes once.
  for (const Operator& op :
       layer_operators(t, shape_of(Composition::none, Autocast::none, true), {}))
    if (op.name == "softmax")
      CHECK_THAT(op.forward_bytes, test::is(kScores * (t.drops() ? 2 * 4 + 1 : 2 * 2)));
    else if (op.name == "attention residual")
      CHECK_THAT(op.forward_bytes, test::is(values * (t.drops() ? 3 * 2 + 1 : 3 * 2)));
}

} // namespace foretrain::elementwise_test
