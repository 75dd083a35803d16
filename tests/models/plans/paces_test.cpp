#include "models/training/paces.hpp"

#include "sim/base/normal_scores.hpp"
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::paces_test {

using namespace foretrain::test;

TEST_CASE("GPUs of one kind differ as so many of them do, in another order for each seed",
          "[paces][closed-form]")
{
  const auto first = paces(16, 0.02, sim::RandomStream(1, "job"));
  const auto second = paces(16, 0.02, sim::RandomStream(2, "job"));
  CHECK(first != second);
  for (auto factors : {first, second}) {
    std::sort(factors.begin(), factors.end());
    for (int i = 0; i < 16; ++i)
      CHECK_THAT(factors[static_cast<std::size_t>(i)],
                 test::is(std::exp(0.02 * sim::normal_score(i, 16))));
  }
  CHECK(paces(3, 0, sim::RandomStream(1, "job")) == std::vector<double>{1, 1, 1});
  CHECK_THAT(paces(1, 0.02, sim::RandomStream(1, "job")).front(), test::is(1));
}

TEST_CASE("a step waits for the slowest GPU, forward and backward", "[paces][closed-form]")
{
  for (const int ranks : {1, 2, 8}) {
    JobScene scene(ranks, Sharing::plugged);
    auto setup = scene.setup(nullptr, 10.0_ms, {10.0_ms}, Bytes(0));
    setup.speed_variation = 0.03;
    const auto job_owned = scene.job(setup);
    ProgramJob& job = *job_owned;
    job.launch(nullptr);
    scene.engine.run();
    CHECK_THAT(job.step_times().back().value(),
               test::is(20e-3 * std::exp(0.03 * sim::largest_normal_score(ranks))));
  }
}

} // namespace foretrain::paces_test
