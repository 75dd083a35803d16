// What is not known of a slowdown: what a job beside others does not share with itself alone.
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/linear_effects.hpp"
#include "experiments/run/uncertainty/probe.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "experiments/spec/resolve.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

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

// Variances towards lower and towards higher values: what more of a variable and less of it do.
struct Sides {
  double below = 0, above = 0;

  void add(double more, double less)
  {
    below += std::pow(more < 0 ? more : less, 2);
    above += std::pow(more > 0 ? more : less, 2);
  }
  double width(double beside) const
  {
    return kHalf90 * (std::hypot(std::sqrt(below), beside) + std::hypot(std::sqrt(above), beside));
  }
};

} // namespace

TEST_CASE("a slowdown is as uncertain as what the job alone does not share", "[uncertainty][long]")
{
  const Point asked = point();
  const PointResult result = run_point(asked, with(UncertaintyMethod::linear));
  const JobResult& job = result.jobs[0];
  REQUIRE(job.slowdown_range);
  CHECK(*job.slowdown > 1.05);
  CHECK(job.slowdown_range->median == *job.slowdown);
  // Each parameter by itself, with the starts of the run that is told.
  RunOptions options;
  options.late = result.late;
  const Probe probe(asked, options, nullptr);
  const auto variables = variables_of(resolve(asked), asked);
  const double alone = probe.alone(asked, 0, false);
  const double beside = probe.rates(asked)[0];
  Sides over, own; // of the slowdown, and of the job alone
  for (std::size_t v = 0; v < variables.size(); ++v) {
    // Effects on the job alone, and beside the others.
    const auto effects = [&](double sign) {
      const bool uneven = acts_unevenly(variables[v]);
      std::vector<double> shift(variables.size(), 0);
      shift[v] = sign * std::clamp((uneven ? kHalf90 : 1) * variables[v].spread, 0.1, 0.5);
      const Point other = shifted(asked, variables, shift);
      const double deviation = variables[v].spread / shift[v];
      return std::pair{deviation * (probe.alone(other, 0, false) - alone),
                       deviation * (probe.rates(other)[0] - beside)};
    };
    const auto more = effects(1);
    const auto less = acts_unevenly(variables[v]) ? effects(-1) : more;
    over.add(more.first - more.second, less.first - less.second);
    own.add(more.first, less.first);
  }
  const double runs = job.uncertainty->run_to_run;
  CAPTURE(log_width(*job.slowdown_range), over.width(0), runs, log_width(job.alone->throughput),
          own.width(0));
  CHECK(log_width(*job.slowdown_range) > over.width(runs));
  CHECK(log_width(*job.slowdown_range) < 1.1 * over.width(std::sqrt(2.0) * runs));
  // Less than in proportion: what exchanges wait for is hidden once it is quick enough.
  CHECK(log_width(job.alone->throughput) > 0.75 * own.width(0));
  CHECK(log_width(job.alone->throughput) < 1.1 * own.width(runs));
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
