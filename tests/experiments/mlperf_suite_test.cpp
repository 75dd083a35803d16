// Suites made of MLPerf result logs.
#include "experiments/validate/mlperf_suite.hpp"
#include "experiments/validate/suite.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/problem.hpp"

namespace foretrain::test::mlperf_suite_test {
namespace {

using namespace experiments;

NamedMlperfLog run_of(double rate, double batch = 1024)
{
  NamedMlperfLog it{"result.txt", {}};
  it.log.benchmark = "resnet";
  it.log.platform = "8xV100";
  it.log.global_batch = batch;
  it.log.throughput = {rate};
  return it;
}

const MlperfOptions kEight{"c4140-resnet50", "network", 8};

TEST_CASE("runs of one submission are repetitions of one row, each GPU with its share of the batch")
{
  const Json suite = mlperf_suite({run_of(2700), run_of(2720)}, kEight);
  SuiteSpec spec;
  Reader::read(Value(parse_document(suite.dump(), "made")), spec, {});
  REQUIRE(spec.rows.size() == 1);
  CHECK(spec.rows[0].repetitions == std::vector<double>{2700, 2720});
  CHECK(spec.rows[0].experiment == "c4140-resnet50");
  CHECK(spec.rows[0].unit == "samples/s");
  CHECK(spec.rows[0].settings.json() == Json{{"/jobs/0/gpus", 8}, {"/jobs/0/batch_per_gpu", 128}});
}

TEST_CASE("runs that are no repetitions, and batches that do not divide, are refused")
{
  CHECK_THAT(problem_of([] {
               mlperf_suite({run_of(2700), run_of(2700, 2048)}, kEight);
             }),
             Catch::Contains("another system"));
  CHECK_THAT(problem_of([] { mlperf_suite({run_of(2700, 1023)}, kEight); }),
             Catch::Contains("do not share evenly"));
  CHECK_THAT(problem_of([] { mlperf_suite({run_of(2700, 4)}, kEight); }),
             Catch::Contains("do not share evenly"));
  CHECK_THAT(problem_of([] { mlperf_suite({run_of(0)}, kEight); }), Catch::Contains("no rate"));
  CHECK_THAT(problem_of([] {
               mlperf_suite({run_of(2700), run_of(2720), run_of(2700)}, kEight);
             }),
             Catch::Contains("tells the same run"));
}

} // namespace
} // namespace foretrain::test::mlperf_suite_test
