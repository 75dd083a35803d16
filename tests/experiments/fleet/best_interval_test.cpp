#include "experiments/fleet/best_interval.hpp"

#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::best_interval_test {

using namespace foretrain::experiments;

namespace {

LoadedFleet any_fleet()
{
  const test::TextFile file("fleet.json", R"({"cluster": {"nodes": 1, "gpus_per_node": 1},
    "arrivals": {"per_hour": 1, "until": "1 h", "mix": [{"gpus": 1, "run_time": "1 h"}]}})");
  return load_fleet(file.path(), {}, "");
}

// Of one seed in which so many GPU seconds were held, half of them for work.
std::vector<FleetRun> held(double seconds, double work)
{
  std::vector<FleetRun> runs(1);
  runs[0].result.gpu_time.productive = work;
  runs[0].result.gpu_time.lost = seconds - work;
  return runs;
}

} // namespace

TEST_CASE("the best interval is that for which least is held for the same work", "[fleet]")
{
  const LoadedFleet fleet = any_fleet();
  std::vector<double> tried;
  const auto best_of = [&](const std::function<std::vector<FleetRun>(double)>& simulate) {
    tried.clear();
    return best_interval_scale(fleet, [&](const LoadedFleet& with) {
      tried.push_back(with.interval_scale);
      return simulate(with.interval_scale);
    });
  };
  CHECK_THAT(best_of([](double scale) { return held(10 + std::abs(scale - 2), 10); }), test::is(2));
  CHECK(tried.size() == 9);
  CHECK_THAT(tried.front(), test::is(0.25));
  CHECK_THAT(tried.back(), test::is(4));
  // Where twice as much is held for three times the work, that is better.
  CHECK_THAT(best_of([](double scale) { return scale > 3 ? held(20, 15) : held(10, 5); }),
             test::is(4));
  // Nothing done counts for nothing, and a run that is stopped ends the search.
  CHECK_THAT(best_of([](double scale) { return held(10, scale < 0.9 ? 0 : 5 / scale); }),
             test::is(1));
  CHECK_THAT(best_of([](double scale) {
               auto runs = held(10 / scale, 1);
               runs[0].result.stopped = scale > 0.6;
               return runs;
             }),
             test::is(0.5));
  CHECK(tried.size() == 4);
  CHECK_THAT(best_of([](double) { return std::vector<FleetRun>{}; }), test::is(1));
}

} // namespace foretrain::best_interval_test
