// What a run tells of itself.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::scenario_test {

using namespace foretrain::test;

namespace {

const char* const kJob = R"({
  "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 1},
  "jobs": [{"model": "resnet50", "batch_per_gpu": 64,
            "framework": {"extends": "pytorch-horovod", "step_variation": 0}}]})";

} // namespace

TEST_CASE("Speedup is over one GPU, efficiency is that of each")
{
  const auto one = run_text(kJob, {{"/jobs/0/gpus", "1"}}).jobs[0];
  const auto four = run_text(kJob, {{"/jobs/0/gpus", "4"}}).jobs[0];
  CHECK(one.speedup == Approx(1));
  CHECK(one.efficiency == Approx(1));
  CHECK(four.speedup == Approx(four.throughput.median / one.throughput.median));
  CHECK(four.efficiency == Approx(four.speedup / 4));
}

TEST_CASE("Doubling what computes takes half of computing out of a step")
{
  const auto job = run_text(kJob, {{"/jobs/0/gpus", "1"}}).jobs[0];
  REQUIRE(job.bottleneck.gain_if_doubled);
  const double share = job.time.compute / job.time.total();
  CHECK(share > 0.9);
  CHECK(*job.bottleneck.gain_if_doubled == Approx(1 / (1 - share / 2) - 1).epsilon(0.05));
}

} // namespace foretrain::scenario_test
