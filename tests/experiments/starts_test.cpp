#include "experiments/run/simulate/starts.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::starts_test {

using namespace foretrain::experiments;

namespace {

ResolvedExperiment with_starts(const std::vector<double>& starts, std::size_t leaves = 99)
{
  ResolvedExperiment experiment;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    experiment.jobs.emplace_back();
    experiment.jobs.back().spec.start = Seconds(starts[i]);
    experiment.jobs.back().spec.ends = i == leaves;
  }
  return experiment;
}

std::vector<double> seconds(const std::vector<Seconds>& starts)
{
  std::vector<double> values;
  for (const Seconds it : starts)
    values.push_back(it.value());
  return values;
}

} // namespace

TEST_CASE("gaps between starts are cut to a minute, in any order", "[starts]")
{
  CHECK(seconds(simulated_starts(with_starts({0, 0.007, 60}))) ==
        std::vector<double>{0, 0.007, 60});
  CHECK(seconds(simulated_starts(with_starts({0, 36000, 36000.5}))) ==
        std::vector<double>{0, 60, 60.5});
  CHECK(seconds(simulated_starts(with_starts({7200, 0, 3600}))) == std::vector<double>{120, 0, 60});
  CHECK(seconds(simulated_starts(with_starts({3600}))) == std::vector<double>{60});
}

TEST_CASE("nothing is cut after a job that may have left by then", "[starts]")
{
  CHECK(seconds(simulated_starts(with_starts({0, 3600}, 0))) == std::vector<double>{0, 3600});
  CHECK(seconds(simulated_starts(with_starts({0, 3600, 7200}, 1))) ==
        std::vector<double>{0, 60, 3660});
}

TEST_CASE("ten hours later is as ten minutes later", "[starts][long]")
{
  const std::string text = R"({
    "cluster": { "platform": "c4140-k-v100-sxm2", "nodes": 1 },
    "jobs": [
      { "name": "a", "model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 512,
        "gpus": 2, "steps": 3 },
      { "name": "b", "model": "vgg16", "framework": "tensorflow-horovod", "batch_per_gpu": 64,
        "gpus": 2, "steps": 3 } ] })";
  const auto minutes = test::run_text(text, {{"/jobs/1/start", "\"600 s\""}});
  const auto hours = test::run_text(text, {{"/jobs/1/start", "\"36000 s\""}});
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(hours.jobs[i].throughput.median == minutes.jobs[i].throughput.median);
  // Only the first job waits for the second one's steps, however long.
  CHECK((hours.jobs[0].elapsed.steps - minutes.jobs[0].elapsed.steps).value() ==
        Approx(36000 - 600));
  CHECK_THAT(hours.jobs[1].elapsed.steps.value(), test::is(minutes.jobs[1].elapsed.steps.value()));
}

TEST_CASE("what is left out of the simulation is part of a job's time", "[starts]")
{
  const auto jobs = with_starts({0, 36000, 36000.5, 72000});
  CHECK(asked_time(jobs, Seconds(0), Seconds(30)).value() == 30);
  CHECK(asked_time(jobs, Seconds(0), Seconds(61)).value() == 36001);
  CHECK(asked_time(jobs, Seconds(60), Seconds(61)).value() == 1);
  CHECK(asked_time(jobs, Seconds(60), Seconds(121)).value() == 36000.5);
  CHECK(asked_time(with_starts({3600}), Seconds(60), Seconds(61)).value() == 1);
}

} // namespace foretrain::starts_test
