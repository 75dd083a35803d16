// Jobs that fall into step or out of it by chance.
#include "experiments/run/simulate/phases.hpp"

#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::phases_test {

using namespace foretrain::test;
using experiments::quantile;

namespace {

// Two equal jobs that each need the link between two nodes for a good part of a step.
const char* const kPair = R"({
  "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 4},
  "stack": {"host": "bare-metal", "network": "rdma"},
  "jobs": [
    {"name": "a", "model": "bert-base", "framework": "pytorch-horovod", "batch_per_gpu": 16,
     "gpus": 8, "placement": "spread", "precision": "fp16"},
    {"name": "b", "model": "bert-base", "framework": "pytorch-horovod", "batch_per_gpu": 16,
     "gpus": 8, "placement": "spread", "precision": "fp16"}]})";

} // namespace

TEST_CASE("Phases are uniform within a step and the same for the same run")
{
  const std::vector<Seconds> steps{Seconds(2), Seconds(0.5)};
  std::vector<double> first;
  for (int run = 0; run < 4000; ++run) {
    const auto late = experiments::random_phases(steps, 1, run);
    REQUIRE(late.size() == 2);
    CHECK(late[0] >= Seconds(0));
    CHECK(late[0] < steps[0]);
    CHECK(late[1] < steps[1]);
    first.push_back(late[0].value());
  }
  CHECK_THAT(quantile(first, 0.25), Catch::Matchers::WithinAbs(0.5, 0.06));
  CHECK_THAT(quantile(first, 0.5), Catch::Matchers::WithinAbs(1.0, 0.06));
  CHECK_THAT(quantile(first, 0.9), Catch::Matchers::WithinAbs(1.8, 0.06));
  CHECK(experiments::random_phases(steps, 1, 3) == experiments::random_phases(steps, 1, 3));
  CHECK(experiments::random_phases(steps, 1, 3) != experiments::random_phases(steps, 2, 3));
}

TEST_CASE("The typical run is nearest to the medians of all jobs")
{
  CHECK(experiments::typical_run({{1, 1}}) == 0);
  CHECK(experiments::typical_run({{1, 9}, {2, 5}, {3, 1}}) == 1);
  CHECK(experiments::typical_run({{2, 5}, {2, 5.1}, {2, 50}, {1, 5}}) == 1);
}

TEST_CASE("An interval of several jobs holds what other starts would give", "[many]")
{
  const auto told = run_text(kPair);
  const auto& job = told.jobs.at(0);
  CHECK(job.uncertainty->run_to_run > 0.01);
  int inside = 0;
  for (int i = 0; i < 10; ++i) {
    auto document = parse_document(kPair, "test");
    set_value(*document, "/jobs/1/start", "\"" + std::to_string(17 * i) + " ms\"");
    experiments::Point point;
    point.document = document;
    const double rate = experiments::point_throughputs(point, {}).at(0);
    inside += rate > job.throughput.low && rate < job.throughput.high ? 1 : 0;
  }
  CHECK(inside >= 9);
  CHECK(job.slowdown.value() > 1.3);
}

} // namespace foretrain::phases_test
