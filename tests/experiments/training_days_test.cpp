// What a long training takes, beside what its steps vary by.
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::training_days_test {

namespace {

experiments::JobResult job(const std::string& more)
{
  return test::run_text(R"({"cluster": {"platform": "dgx1-v100"}, "jobs": [{"model": "resnet50",
    "framework": {"extends": "pytorch-ddp", "step_variation": 0.2}, "batch_per_gpu": 64, "gpus": 2,
    "training_steps": 1000000}])" +
                        more + "}")
      .jobs.front();
}

double side(double bound, double median)
{
  return std::abs(std::log(bound / median));
}

} // namespace

TEST_CASE("a training of many steps varies less than one of them", "[training][closed-form]")
{
  const auto found = job("");
  REQUIRE(found.uncertainty->method == "linear");
  const double start_up = found.elapsed.start_up.value() / 86400;
  const auto running = [&](double days) { return days - start_up; };
  // Parameters alone: what the range of throughput has beside the spread of its steps.
  experiments::RunOptions steps;
  steps.uncertainty.method = experiments::UncertaintyMethod::steps;
  auto document = parse_document(R"({"cluster": {"platform": "dgx1-v100"}, "jobs": [{
    "model": "resnet50", "framework": {"extends": "pytorch-ddp", "step_variation": 0.2},
    "batch_per_gpu": 64, "gpus": 2, "training_steps": 1000000}]})",
                                 "test");
  experiments::Point point;
  point.document = document;
  const auto alone = experiments::run_point(point, steps).jobs.front();
  const double median = running(found.days->median);
  for (const auto& [days, whole, of_steps] :
       {std::tuple(found.days->high, found.throughput.low, alone.throughput.low),
        std::tuple(found.days->low, found.throughput.high, alone.throughput.high)}) {
    const double all = side(whole, found.throughput.median);
    const double step = side(of_steps, alone.throughput.median);
    CHECK(step > 0.1);
    CHECK(side(running(days), median) == Approx(std::sqrt(all * all - step * step)).epsilon(1e-6));
  }
  // Where nothing but steps varies these are all that is known.
  CHECK(side(running(alone.days->high), running(alone.days->median)) ==
        Approx(side(alone.throughput.low, alone.throughput.median)).epsilon(1e-6));
}

} // namespace foretrain::training_days_test
