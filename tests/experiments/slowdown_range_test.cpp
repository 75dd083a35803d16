// What is not known of a slowdown: what a job beside others does not share with itself alone.
#include "calibration/correlated.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "experiments/run/uncertainty/probe.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/engine/random.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foretrain::slowdown_range_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Matchers::WithinRel;

namespace {

constexpr double kHalf90 = 1.6448536; // standard deviations of half a 90 % interval

// Two jobs that send through the same adapters, and beside them one that shares nothing.
Point point()
{
  const auto job = [](const std::string& name, const std::string& gpus, const std::string& places) {
    return R"({"name": ")" + name + R"(", "model": "vgg16", "batch_per_gpu": 32, "gpus": )" + gpus +
           R"(, "precision": "fp16", "framework": {"extends": "tensorflow-horovod",
               "step_variation": 0}, "placement": [)" +
           places + "]}";
  };
  const std::string text =
      R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 3}, "stack": {"network": "rdma"},
          "jobs": [)" +
      job("first", "2", "[0, 0], [1, 0]") + "," + job("second", "2", "[0, 1], [1, 1]") + "," +
      job("apart", "1", "[2, 0]") + "]}";
  return {{}, parse_document(text, "test"), nullptr};
}

RunOptions with(UncertaintyMethod method)
{
  RunOptions options;
  options.uncertainty.method = method;
  return options;
}

double log_width(const Range& range)
{
  return std::log(range.high / range.low);
}

} // namespace

TEST_CASE("a slowdown is as uncertain as what the job alone does not share", "[uncertainty][long]")
{
  const Point asked = point();
  const PointResult result = run_point(asked, with(UncertaintyMethod::linear));
  const JobResult& job = result.jobs[0];
  REQUIRE(job.slowdown_range);
  CHECK(*job.slowdown > 1.05);
  CHECK(job.slowdown_range->median == *job.slowdown);
  // Against draws of all parameters, with the starts of the run that is reported.
  RunOptions options;
  options.late = result.late;
  const Probe probe(asked, options, nullptr);
  const auto variables = variables_of(resolve(asked), asked);
  const auto root = calibration::correlation_root(correlations(asked, variables));
  std::vector<double> slowdowns, alone; // logarithms
  sim::RandomStream random(1, "slowdowns");
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<double> z, shift;
    for (std::size_t v = 0; v < variables.size(); ++v) {
      z.push_back(random.normal());
      shift.push_back(variables[v].spread *
                      std::inner_product(z.begin(), z.end(), root[v].begin(), 0.0));
    }
    const Point other = shifted(asked, variables, shift);
    alone.push_back(probe.alone(other, 0, false));
    slowdowns.push_back(alone.back() - probe.rates(other)[0]);
  }
  const auto width = [](const std::vector<double>& drawn) {
    return quantile(drawn, 0.95) - quantile(drawn, 0.05);
  };
  CAPTURE(width(slowdowns), width(alone), log_width(*job.slowdown_range),
          log_width(job.alone->throughput));
  CHECK_THAT(log_width(*job.slowdown_range), WithinRel(width(slowdowns), 0.15));
  CHECK_THAT(log_width(job.alone->throughput), WithinRel(width(alone), 0.15));
  // What shares nothing is as slow as alone whatever is not known of it.
  const JobResult& apart = result.jobs[2];
  CHECK(*apart.slowdown == Approx(1).epsilon(1e-9));
  CHECK_THAT(log_width(*apart.slowdown_range),
             WithinRel(2 * kHalf90 * std::sqrt(2.0) * apart.uncertainty->run_to_run, 1e-6));
}

TEST_CASE("what is not modelled of a transformer slows it down beside others as it does alone",
          "[uncertainty][long]")
{
  const JobResult job = run_text(R"({"cluster": {"platform": "hgx-h100", "nodes": 2}, "jobs": [
      {"name": "large", "model": "gpt3-1.7b", "framework": "megatron", "precision": "bf16", "gpus": 8,
       "global_batch": 64}, {"name": "apart", "model": "resnet50", "framework": "pytorch-ddp", "gpus": 1,
       "batch_per_gpu": 64, "placement": [[1, 0]]}]})")
                            .jobs[0];
  REQUIRE(job.slowdown_range);
  CHECK(log_width(*job.slowdown_range) < 0.5 * log_width(job.throughput));
  CHECK(log_width(job.alone->throughput) == Approx(log_width(job.throughput)).epsilon(0.02));
}

TEST_CASE("without parameters that vary a slowdown has no range", "[uncertainty]")
{
  const PointResult result = run_point(point(), with(UncertaintyMethod::steps));
  CHECK(result.jobs[0].slowdown);
  CHECK_FALSE(result.jobs[0].slowdown_range);
  CHECK_FALSE(run_text(R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "jobs": [{"gpus": 1,
      "model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 64}]})")
                  .jobs[0]
                  .slowdown_range);
}

} // namespace foretrain::slowdown_range_test
