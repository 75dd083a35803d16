// Probes are runs of whole points: what they say of one job, of a part or of one GPU is what an
// experiment of that alone would say.
#include "experiments/run/uncertainty/probe.hpp"

#include "experiments/run/scenario.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::probe_test {

using namespace foretrain::experiments;

namespace {

constexpr const char* kFirst = R"({"name": "first", "model": "vgg16", "batch_per_gpu": 64,
  "framework": "tensorflow-horovod", "gpus": 4, "placement": "spread"})";
constexpr const char* kSecond = R"({"name": "second", "model": "alexnet", "batch_per_gpu": 128,
  "framework": "mxnet-horovod", "gpus": 4, "placement": "spread"})";

Point point(const std::string& jobs)
{
  Point made;
  made.document = parse_document(
      R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2}, "stack": {"network": "rdma"},
          "jobs": [)" +
          jobs + "]}",
      "test");
  return made;
}

Probe probe(const Point& of, RunOptions options = {})
{
  return {of, std::move(options), std::make_shared<KnownExchanges>()};
}

} // namespace

TEST_CASE("a job alone is as in an experiment without the others, whenever it would start",
          "[probe]")
{
  const Point both = point(std::string(kFirst) + ", " + kSecond);
  RunOptions late;
  late.late = {Seconds(0), Seconds(0.01)};
  const Probe of_both = probe(both, late);
  const LogRates together = of_both.rates(both);
  REQUIRE(together.size() == 2);
  const Point first = point(kFirst);
  const double alone = probe(first).rates(first).front();
  CHECK_THAT(of_both.alone(both, 0, false), test::is(alone));
  CHECK(together[0] < alone - 0.01); // they share the adapters
  CHECK(together[1] < of_both.alone(both, 1, false) - 0.01);
}

TEST_CASE("a rate is the inverse of the mean step; exchanges that are known change nothing",
          "[probe]")
{
  const Point first = point(kFirst);
  const Probe of_first = probe(first);
  const auto steps = of_first.steps(first, RunOptions().seed).front();
  double sum = 0;
  for (const double step : steps)
    sum += step;
  CHECK_THAT(of_first.rates(first).front(),
             test::is(-std::log(sum / static_cast<double>(steps.size()))));
  for (int again = 0; again < 2; ++again) // what the first run learns the second takes
    CHECK_THAT(of_first.rates(first, true).front(), test::is(of_first.rates(first).front()));
  CHECK(of_first.steps(first, 7).front() != steps); // another seed is another draw
}

} // namespace foretrain::probe_test
