// Work that hangs on the samples of a batch, in whole experiments.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::work_variation_test {

using namespace foretrain::test;

namespace {

experiments::JobResult job(int gpus, double variation)
{
  return run_text(R"({"cluster": {"platform": {"extends": "dgx1-v100", "node": {"gpus": {"type":
                        {"extends": "v100-sxm2-16gb", "speed_variation": 0}}}}},
    "jobs": [{"batch_per_gpu": 64, "steps": 400, "gpus": )" +
                  std::to_string(gpus) +
                  R"(, "framework": {"extends": "pytorch-ddp", "step_variation": 0},
                  "model": {"extends": "alexnet", "work_variation": )" +
                  std::to_string(variation) + "}}]}")
      .jobs.at(0);
}

} // namespace

TEST_CASE("GPUs wait for the one whose batch has most work", "[work-variation][property][long]")
{
  // The expected largest of eight standard normals.
  const double largest = 1.4236;
  const auto even = job(8, 0);
  const auto uneven = job(8, 0.05);
  const double longer = uneven.step_time.median - even.step_time.median;
  const double kernels = even.time.compute.value();
  CHECK(longer > 0.85 * 0.05 * largest * kernels);
  CHECK(longer < 1.15 * 0.05 * largest * kernels);
}

TEST_CASE("a GPU alone waits for nobody, whatever its batches", "[work-variation]")
{
  CHECK(job(1, 0.05).step_time.median == job(1, 0).step_time.median);
}

} // namespace foretrain::work_variation_test
