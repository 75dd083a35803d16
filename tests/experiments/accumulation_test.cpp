// Gradients of several batches in one step, in whole experiments.
#include "tests/experiments/point.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::accumulation_test {

using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

std::string text(const std::string& job)
{
  return R"({"cluster": {"platform": "dgx1-v100"}, "jobs": [{"steps": 2, )" + job + "}]}";
}

constexpr const char* kResNet =
    R"("model": "resnet50", "framework": "pytorch-ddp", "batch_per_gpu": 32)";

experiments::PointResult resnet(int gpus, int batches, const std::string& more = "")
{
  return run_text(text(kResNet + std::string(more) + R"(, "gpus": )" + std::to_string(gpus) +
                       R"(, "gradient_accumulation": )" + std::to_string(batches)));
}

} // namespace

TEST_CASE("a step of several batches has their samples and one exchange", "[accumulation][long]")
{
  const auto one = resnet(8, 1).jobs.at(0), four = resnet(8, 4).jobs.at(0);
  const auto samples = [](const experiments::JobResult& job) {
    return job.throughput.median * job.step_time.median;
  };
  CHECK(samples(one) == Approx(8 * 32).epsilon(0.01));
  CHECK(samples(four) == Approx(8 * 32 * 4).epsilon(0.01));
  CHECK(four.throughput.median > one.throughput.median);
  CHECK(four.step_time.median < 4 * one.step_time.median);
  CHECK(four.time.exposed_communication.value() ==
        Approx(one.time.exposed_communication.value()).epsilon(0.05));
}

TEST_CASE("an anchor of one GPU is met with as many batches", "[accumulation][anchor]")
{
  const auto rate = [](int batches) {
    return resnet(1, batches, R"(, "anchor": {"samples_per_s": 300})").jobs.at(0).throughput.median;
  };
  CHECK(rate(1) == Approx(300).epsilon(0.02)); // steps vary
  CHECK(rate(8) == Approx(rate(1)).epsilon(0.001));
}

TEST_CASE("global_batch of a network is told by its batches", "[accumulation]")
{
  const auto warned = [](int global) {
    const auto all = resnet(8, 4, R"(, "global_batch": )" + std::to_string(global)).warnings;
    return std::ranges::any_of(all, [](const std::string& warning) {
      return warning.find("\"gradient_accumulation\" (here 2)") != std::string::npos;
    });
  };
  CHECK_FALSE(warned(1024));
  CHECK(warned(512));
}

TEST_CASE("what has no gradients of its own batches adds none up", "[accumulation]")
{
  const auto refused = [](const std::string& job, const char* why) {
    CHECK_THROWS_WITH(run_text(text(job + R"(, "gpus": 8, "gradient_accumulation": 2)")),
                      Contains("/jobs/0/gradient_accumulation") && Contains(why));
  };
  refused(kResNet + std::string(R"(, "mode": "inference")"), "inference has no gradients");
  refused(R"("model": "dlrm", "framework": "hugectr", "precision": "fp16", "batch_per_gpu": 64)",
          "rows of divided tables");
  refused(R"("program": "pair-copies", "framework": "pytorch-ddp")", "program is a whole step");
  refused(R"("model": "gpt2-small", "framework": "pytorch-ddp", "batch_per_gpu": 4)",
          "\"micro_batch\": 4");
}

TEST_CASE("sums of gradients are read and written once, gradients read once",
          "[accumulation][closed-form]")
{
  // What one batch more takes, with sums of 4 bytes and of 2: three times 2 bytes of each
  // parameter.
  const auto more = [](const char* precision) {
    const auto computed = [&](int batches) {
      return run_text(
                 text(R"("model": "resnet50", "batch_per_gpu": 32, "precision": "fp16", "gpus": 1,
        "framework": {"extends": "pytorch-ddp", "step_variation": 0, "gradient_precision": ")" +
                      std::string(precision) + R"("}, "gradient_accumulation": )" +
                      std::to_string(batches)))
          .jobs.at(0)
          .time.compute.value();
    };
    return computed(2) - computed(1);
  };
  const double parameters = 25557032, memory = 0.825 * 900e9; // of a V100
  CHECK(more("fp32") - more("compute") == Approx(3 * 2 * parameters / memory).epsilon(0.01));
}

} // namespace foretrain::accumulation_test
