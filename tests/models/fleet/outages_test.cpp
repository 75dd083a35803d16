// When nodes, GPUs and the storage fail by a law, and for how long.
#include "models/fleet/outages.hpp"

#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::outages_test {

using namespace foretrain::models::fleet;

TEST_CASE("checks find their share of the failures", "[fleet]")
{
  FailureClass law{Seconds(1000), FailureLaw::exponential, 1, {Seconds(1), Seconds(1)}};
  law.drained = 0.3;
  const OutageSource source = draw_outages({law}, {100, 1, 0}, 3);
  int drained = 0, all = 0;
  for (auto outage = source(); outage && outage->time < Seconds(200000); outage = source()) {
    ++all;
    drained += outage->drained ? 1 : 0;
  }
  CHECK(std::abs(drained / double(all) - 0.3) < 0.01);
}

TEST_CASE("Weibull's law has its mean, and repairs their median and mean", "[fleet][closed-form]")
{
  sim::RandomStream stream(1, "laws");
  const FailureClass law{Seconds(100), FailureLaw::weibull, 0.62};
  const RepairLaw repair{Seconds(20), Seconds(60)};
  constexpr int kDraws = 400000;
  double gaps = 0, repairs = 0;
  int below = 0;
  for (int i = 0; i < kDraws; ++i) {
    gaps += draw_gap(law, 1, stream).value() / kDraws;
    const double length = repair.draw(stream).value();
    repairs += length / kDraws;
    below += length < 20 ? 1 : 0;
  }
  CHECK(std::abs(gaps / 100 - 1) < 0.02);
  CHECK(std::abs(repairs / 60 - 1) < 0.03);
  CHECK(std::abs(below / double(kDraws) - 0.5) < 0.005);
}

TEST_CASE("failures have their rate from the start, whatever their law", "[fleet][closed-form]")
{
  const auto [law, shape] = GENERATE(table<FailureLaw, double>({{FailureLaw::exponential, 1},
                                                                {FailureLaw::weibull, 0.5},
                                                                {FailureLaw::weibull, 1},
                                                                {FailureLaw::weibull, 3}}));
  const FailureClass failures{Seconds(1000), law, shape, {Seconds(1e-6), Seconds(1e-6)}};
  // (mu^2 + sigma^2) / (2 mu) of a gap, until the first of those that have run for long.
  const double mean = std::tgamma(1 + 1 / shape);
  const double until_first = std::tgamma(1 + 2 / shape) / (2 * mean * mean);
  sim::RandomStream stream(5, "first gaps");
  constexpr int kDraws = 400000;
  double first = 0;
  for (int i = 0; i < kDraws; ++i)
    first += draw_first_gap(failures, 1, stream).value() / 1000 / kDraws;
  CHECK(std::abs(first / until_first - 1) < 0.03);
  int begins = 0, later = 0; // in two times of a tenth of the mean
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const OutageSource source = draw_outages({failures}, {200, 1, 0}, seed);
    for (auto it = source(); it && it->time < Seconds(600); it = source()) {
      begins += it->time < Seconds(100) ? 1 : 0;
      later += it->time >= Seconds(500) ? 1 : 0;
    }
  }
  CHECK(std::abs(begins / 4000.0 - 1) < 0.06);
  CHECK(std::abs(later / 4000.0 - 1) < 0.06);
}

TEST_CASE("lemons have their share of the failures", "[fleet]")
{
  FailureClass law{Seconds(1000), FailureLaw::exponential, 1, {Seconds(1), Seconds(1)}};
  law.lemons = 0.1;
  law.lemon_share = 0.41;
  const OutageSource source = draw_outages({law}, {100, 1, 0}, 3);
  int of_lemons = 0, all = 0;
  for (auto outage = source(); outage && outage->time < Seconds(200000); outage = source()) {
    ++all;
    of_lemons += outage->first < 10 ? 1 : 0;
  }
  CHECK(std::abs(all / 20000.0 - 1) < 0.03);
  CHECK(std::abs(of_lemons / double(all) - 0.41) < 0.02);
}

TEST_CASE("GPUs and the storage fail as often as their laws say", "[fleet][closed-form]")
{
  FailureClass gpus{Seconds(1000), FailureLaw::exponential, 1, {Seconds(1), Seconds(1)}};
  gpus.hits = Hits::gpu;
  FailureClass storage = gpus;
  storage.hits = Hits::storage;
  const OutageSource source = draw_outages({gpus, storage}, {10, 4, 0}, 3);
  int of_storage = 0, all = 0, last_gpu = 0, last_node = 0;
  for (auto outage = source(); outage && outage->time < Seconds(500000); outage = source()) {
    ++all;
    of_storage += outage->hits == Hits::storage ? 1 : 0;
    last_gpu += outage->hits == Hits::gpu && outage->gpu == 3 ? 1 : 0;
    last_node += outage->hits == Hits::gpu && outage->first == 9 ? 1 : 0;
  }
  CHECK(std::abs(of_storage / 500.0 - 1) < 0.15);
  CHECK(std::abs(all / (41 * 500.0) - 1) < 0.03);
  CHECK(std::abs(last_gpu / (10 * 500.0) - 1) < 0.06);
  CHECK(std::abs(last_node / (4 * 500.0) - 1) < 0.08);
}

} // namespace foretrain::outages_test
