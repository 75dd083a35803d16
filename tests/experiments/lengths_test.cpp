// Transformers whose sequences differ in length.
#include "tests/experiments/point.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::lengths_test {

using namespace foretrain::test;

namespace {

experiments::JobResult job(const std::string& more, int gpus = 8)
{
  return run_text(
             R"({"cluster": {"platform": "dgx-a100"}, "jobs": [{"model": {"extends": "bert-large-512",
    "sequence": 512}, "framework": "nemo", "precision": "fp16", "batch_per_gpu": 16, "gpus": )" +
             std::to_string(gpus) + more + "}]}")
      .jobs.at(0);
}

} // namespace

TEST_CASE("sequences that all have the longest length are those without lengths", "[lengths]")
{
  const auto without = job("");
  const auto with = job(R"(, "lengths": {"mean": 512})");
  CHECK(with.throughput.median == without.throughput.median);
  CHECK(with.tokens_per_s->median == without.tokens_per_s->median);
  CHECK(with.memory.needed == without.memory.needed);
}

TEST_CASE("equal sequences of half the length are a sequence of half the length", "[lengths]")
{
  const auto shorter = job(R"(, "sequence": 256)", 1);
  const auto half = job(R"(, "lengths": {"mean": 256})", 1);
  CHECK_THAT(half.throughput.median, test::is(shorter.throughput.median));
  CHECK_THAT(half.tokens_per_s->median, test::is(shorter.tokens_per_s->median));
  CHECK(half.memory.needed == shorter.memory.needed);
  CHECK_THAT(half.model_tflops_per_gpu->full, test::is(shorter.model_tflops_per_gpu->full));
}

TEST_CASE("ranks wait for the one with the most tokens, unless they are balanced",
          "[lengths][property]")
{
  const auto equal = job(R"(, "lengths": {"mean": 256})");
  const auto waits = job(R"(, "lengths": {"mean": 256, "deviation": 150})");
  const auto balanced = job(R"(, "lengths": {"mean": 256, "deviation": 150, "balanced": true})");
  // Of eight normal draws the largest lies 1.42 deviations above the mean: 150 / 256 / 4 each. The
  // optimizer and what is exchanged behind the passes take as long with any tokens.
  CHECK(waits.step_time.median / balanced.step_time.median ==
        Approx(1 + 1.42 * 0.146).epsilon(0.05));
  CHECK(balanced.step_time.median > equal.step_time.median); // attention of the long ones
  CHECK(balanced.step_time.median < 1.05 * equal.step_time.median);
  CHECK(balanced.memory.needed > equal.memory.needed);
}

TEST_CASE("outputs of a part of the tokens cost a part", "[lengths]")
{
  const auto rate = [](const char* share) {
    return run_text(
               R"({"cluster": {"platform": "dgx-a100"}, "jobs": [{"model": {"extends": "bert-large-512",
      "transformer": {"predicted": )" +
               std::string(share) +
               R"(}}, "framework": "nemo", "precision": "fp16", "batch_per_gpu": 16, "gpus": 1}]})")
        .jobs.at(0);
  };
  const auto all = rate("1");
  const auto few = rate("0.15");
  CHECK(few.throughput.median > 1.05 * all.throughput.median);
  CHECK(few.memory.needed < all.memory.needed);
  // A head of 30,522 words and a dense layer, three passes of two operations each.
  const double less = 0.85 * 6 * (30522 * 1024.0 + 1024 * 1024.0);
  CHECK_THAT(all.model_tflops_per_gpu->full * 1e12 / all.tokens_per_s->median -
                 few.model_tflops_per_gpu->full * 1e12 / few.tokens_per_s->median,
             test::is(less));
}

TEST_CASE("lengths are of transformers", "[lengths]")
{
  const auto result =
      run_text(R"({"cluster": {"platform": "dgx1-v100"}, "jobs": [{"model": "resnet50",
    "framework": "pytorch-ddp", "batch_per_gpu": 16, "gpus": 1, "lengths": {"mean": 5}}]})");
  REQUIRE(!result.warnings.empty());
  CHECK_THAT(result.warnings.front(), Catch::Matchers::Contains("\"lengths\" has no influence"));
}

} // namespace foretrain::lengths_test
