#include "models/training/step_draws.hpp"

#include "sim/base/normal_scores.hpp"
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace foretrain::step_draws_test {

using namespace foretrain::test;
using models::StepDraws;

TEST_CASE("the second step of a pair draws the mirror image of the first", "[step_draws]")
{
  const StepDraws draws(3, 0.1, 0, 1, "job");
  const double usual = std::exp(-0.5 * std::log1p(0.1 * 0.1)); // a draw of 0
  std::set<double> factors;
  for (int device = 0; device < 3; ++device)
    for (const int step : {-4, -2, 0, 2, 18}) {
      factors.insert(draws.factor(device, step));
      CHECK_THAT(draws.factor(device, step) * draws.factor(device, step + 1),
                 test::is(usual * usual));
    }
  CHECK(factors.size() == 15); // each pair of each device another
}

TEST_CASE("any twelve steps go through the whole cycle of the loop", "[step_draws][closed-form]")
{
  std::set<double> first;
  for (const int seed : {1, 2, 3})
    for (const int from : {-5, 0, 100}) {
      const StepDraws draws(1, 0, 0, static_cast<std::uint64_t>(seed), "job");
      std::vector<double> phases;
      for (int step = from; step < from + 12; ++step)
        phases.push_back(draws.cycle_phase(step));
      std::sort(phases.begin(), phases.end());
      CHECK(phases.front() >= 0);
      CHECK(phases.back() < 1);
      phases.push_back(phases.front() + 1);
      // Gaps of at most two places of 12: three lengths occur (Steinhaus), of 12 points 0.146.
      for (std::size_t i = 1; i < phases.size(); ++i)
        CHECK(phases[i] - phases[i - 1] < 0.15);
      first.insert(draws.cycle_phase(0));
    }
  CHECK(first.size() == 3);
}

TEST_CASE("factors are log-normal with mean 1, whatever has been drawn before", "[step_draws]")
{
  const StepDraws draws(1, 0.3, 0, 1, "job");
  std::vector<double> logs;
  double sum = 0;
  for (int step = 0; step < 20000; step += 2) {
    logs.push_back(std::log(draws.factor(0, step)));
    sum += draws.factor(0, step);
  }
  CHECK_THAT(sum / 10000, Catch::Matchers::WithinRel(1.0, 0.01));
  std::sort(logs.begin(), logs.end());
  const double sigma = std::sqrt(std::log1p(0.09));
  for (const double score : {-1.0, 0.0, 1.0}) {
    const double part = 0.5 * std::erfc(-score / std::sqrt(2));
    CHECK_THAT(logs[static_cast<std::size_t>(part * 10000)] + 0.5 * sigma * sigma,
               Catch::Matchers::WithinAbs(score * sigma, 0.02));
  }
  CHECK(StepDraws(1, 0.3, 0, 2, "job").factor(0, 0) != draws.factor(0, 0));
  CHECK(StepDraws(1, 0.3, 0, 1, "other").factor(0, 0) != draws.factor(0, 0));
  CHECK(StepDraws(1, 0, 0, 1, "job").factor(0, 7) == 1);
}

TEST_CASE("a slower GPU is slower in every step", "[step_draws]")
{
  const StepDraws both(8, 0.1, 0.05, 1, "job");
  const StepDraws steps(8, 0.1, 0, 1, "job");
  std::vector<double> ratios;
  for (int device = 0; device < 8; ++device) {
    ratios.push_back(both.factor(device, 0) / steps.factor(device, 0));
    CHECK_THAT(both.factor(device, 5) / steps.factor(device, 5), test::is(ratios.back()));
  }
  std::sort(ratios.begin(), ratios.end());
  CHECK_THAT(ratios.front(), test::is(std::exp(0.05 * sim::normal_score(0, 8))));
}

TEST_CASE("the mean of a few steps of one GPU is that of many, however many come before",
          "[step_draws][closed-form]")
{
  std::vector<double> means;
  for (const int warmup : {2, 3, 6}) {
    JobScene scene(1, Sharing::plugged);
    auto setup = scene.setup(nullptr, 10.0_ms, {10.0_ms}, Bytes(0));
    setup.schedule.warmup_steps = warmup;
    setup.schedule.measured_steps = 4;
    setup.plan.framework.step_variation = 0.02;
    const auto job_owned = scene.job(setup);
    ProgramJob& job = *job_owned;
    job.launch(nullptr);
    scene.engine.run();
    const auto& steps = job.step_times();
    REQUIRE(steps.size() == 4);
    CHECK(steps[0] != steps[1]);
    CHECK_THAT((steps[0].value() * steps[1].value()) / (steps[2].value() * steps[3].value()),
               test::is(1));
    means.push_back((steps[0] + steps[1] + steps[2] + steps[3]).value() / 4);
  }
  CHECK_THAT(means[0], Catch::Matchers::WithinRel(20e-3, 1e-3));
  CHECK_THAT(means[1], test::is(means[0]));
  CHECK_THAT(means[2], test::is(means[0]));
}

} // namespace foretrain::step_draws_test
