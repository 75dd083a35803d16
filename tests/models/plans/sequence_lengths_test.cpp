#include "models/plans/sequence_lengths.hpp"

#include "models/plans/planned_layer.hpp"
#include "models/transformer/counts.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::sequence_lengths_test {

using namespace foretrain::models;

namespace {

std::string problem_of(const std::string& text, int longest)
{
  try {
    const Value at(parse_document(text, "lengths.json"));
    check_lengths(read_as<SequenceLengths>(at), longest, at);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("attention sees the mean of squares over the mean", "[lengths][closed-form]")
{
  CHECK(attended_length({100, 0, false}) == 100);
  // Half of them 50 and half 150 tokens: 12,500 squares in the mean.
  CHECK_THAT(attended_length({100, 50, false}), test::is(125));
}

TEST_CASE("tokens of many sequences vary less than those of one", "[lengths][closed-form]")
{
  CHECK_THAT(token_variation({100, 50, false}, 1), test::is(0.5));
  CHECK_THAT(token_variation({100, 50, false}, 25), test::is(0.1));
  CHECK(token_variation({100, 0, false}, 4) == 0);
}

TEST_CASE("a batch has three deviations more than its mean at most, and no more than all long ones",
          "[lengths][closed-form]")
{
  CHECK_THAT(most_tokens({100, 10, false}, 16, 512, 4), test::is(1600 + 3 * 10 * 4));
  CHECK_THAT(most_tokens({500, 70, false}, 4, 512, 1), test::is(4 * 512));
  // Four balanced ones have a quarter each of what 64 sequences have at most.
  CHECK_THAT(most_tokens({100, 10, true}, 16, 512, 4), test::is((6400 + 3 * 10 * 8) / 4.0));
}

TEST_CASE("lengths that no sequences have are refused", "[lengths][errors]")
{
  CHECK(problem_of(R"({"mean": 256, "deviation": 183})", 512) == "no error");
  CHECK(problem_of(R"({"mean": 512})", 512) == "no error");
  CHECK_THAT(problem_of(R"({"mean": 600})", 512),
             Catch::Matchers::Contains("/mean is 600, more than the 512 tokens of a sequence"));
  CHECK(problem_of(R"({"mean": 256, "deviation": 256})", 512) == "no error"); // half 0, half 512
  CHECK_THAT(problem_of(R"({"mean": 128, "deviation": 250})", 512),
             Catch::Matchers::Contains("/deviation is 250") &&
                 Catch::Matchers::Contains("differ by 221.7"));
  CHECK_THAT(problem_of(R"({"deviation": 1})", 512), Catch::Matchers::Contains("mean"));
}

TEST_CASE("products see the mean length, attention that of equal work", "[lengths][closed-form]")
{
  StepSetting s;
  s.memory.batch.sequence = 512;
  s.memory.batch.micro_batch = 12;
  CHECK(operator_shape(s).tokens() == 12 * 512);
  s.memory.batch.lengths = SequenceLengths{100, 50, false};
  const OperatorShape shape = operator_shape(s);
  CHECK_THAT(shape.tokens(), test::is(1200));
  CHECK_THAT(shape.sequence, test::is(125));
  // Squares of all: twelve of 12,500 in the mean.
  CHECK_THAT(shape.micro_batch * shape.sequence * shape.sequence, test::is(12 * 12500));
}

TEST_CASE("arithmetic of outputs is that of the tokens that have one", "[lengths][closed-form]")
{
  Transformer t;
  t.layers = 2;
  t.hidden = 8;
  t.heads = 2;
  t.vocabulary = 100;
  t.prediction_head = true;
  const auto flops = [&](double predicted) {
    t.predicted = predicted;
    return forward_flops_per_token(t, 16, AttentionCount::full).value();
  };
  CHECK_THAT(flops(1) - flops(0.25), test::is(0.75 * 2 * (100 * 8 + 8 * 8)));
}

TEST_CASE("another plan keeps the lengths, and its ranks vary by their own samples",
          "[lengths][closed-form]")
{
  PlannedBatch batch = planned_batch(ParallelPlan{}, 8, 512, 4, 64); // eight samples each
  batch.lengths = SequenceLengths{100, 50, false};
  CHECK_THAT(batch.varying_tokens(), test::is(0.5 / std::sqrt(8)));
  ParallelPlan halves;
  halves.tensor = 2;
  StepSetting s;
  s.variation = 0.3;
  s.memory.batch = planned_batch(halves, batch, 2); // four ranks of 16
  CHECK(s.memory.batch.micro_batches == 8);
  CHECK_THAT(s.step_variation(), test::is(std::hypot(0.3, 0.125)));
  s.memory.batch.lengths->balanced = true;
  CHECK(s.step_variation() == 0.3);
}

} // namespace foretrain::sequence_lengths_test
