// Random systems of flows: our incremental model, its full solve, and SimGrid's own network model
// must give the same dates.
#include "sim/engine/engine.hpp"
#include "sim/engine/random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/isolated.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::fuzz_test {

using namespace foretrain::sim;

namespace {

struct RandomSystem {
  std::uint64_t seed;
  bool holding = false; // some paths hold resources: unknown to SimGrid's own model
  bool moving = false;  // capacities change while flows run

  std::vector<double> finish_dates(Sharing sharing) const
  {
    RandomStream random(seed, "fuzz");
    const auto uniform = [&](double low, double high) {
      return low + (high - low) * static_cast<double>(random() >> 11U) * 0x1.0p-53;
    };
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    Engine engine(sharing);
    const std::size_t resources = 3 + below(20);
    for (std::size_t r = 0; r < resources; ++r)
      engine.add_resource("r" + std::to_string(r), std::floor(uniform(1e9, 2e10)));
    std::vector<PathPtr> paths;
    for (std::size_t p = 0; p < 4 + below(16); ++p) {
      std::vector<Use> uses;
      const std::size_t length = 1 + below(p % 7 == 0 ? resources / 2 + 1 : 4);
      for (std::size_t i = 0; i < length; ++i)
        uses.push_back({static_cast<int>(below(resources)), static_cast<double>(1 + below(3))});
      Held held;
      if (holding && p % 2 == 0)
        for (std::size_t i = 0; i < 1 + p % 3; ++i)
          held.uses.push_back({static_cast<int>(below(resources)), uniform(0.5, 2)});
      held.priority = uniform(0.2, 5);
      paths.push_back(make_path(uses, Seconds(p % 4 == 2 ? 1e-3 : 0),
                                p % 3 == 1 ? std::floor(uniform(2e8, 3e9)) : MaxMin::kNoCap,
                                std::move(held)));
      engine.declare(paths.back());
    }
    const std::size_t flows = 60 + below(120);
    std::vector<double> finish(flows, -1);
    double date = 0;
    for (std::size_t f = 0; f < flows; ++f) {
      date += uniform(0, 1) < 0.3 ? 0 : uniform(0, 0.02);
      const FlowSpec spec{paths[below(paths.size())], std::floor(uniform(1e6, 3e8)), 1, "fuzz"};
      engine.at(Seconds(date), [&engine, &finish, spec, f] {
        engine.start(spec, [&finish, f](const FlowRecord& r) { finish[f] = r.finish.value(); });
      });
    }
    for (double at = 0.1; moving && at < date; at += uniform(0.01, 0.3)) {
      const ResourceId resource{static_cast<int>(below(resources))};
      const double capacity = std::floor(uniform(1e8, 2e10));
      engine.at(Seconds(at),
                [&engine, resource, capacity] { engine.set_capacity(resource, capacity); });
    }
    engine.run();
    return finish;
  }
};

double worst_difference(const std::vector<double>& a, const std::vector<double>& b)
{
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]) / std::max(b[i], 1e-9));
  return worst;
}

void check_native(std::uint64_t first, std::uint64_t last)
{
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const RandomSystem system{seed};
    const auto native = test::isolated([&] { return system.finish_dates(Sharing::native); });
    const auto plugged = test::isolated([&] { return system.finish_dates(Sharing::plugged); });
    REQUIRE(*std::min_element(native.begin(), native.end()) > 0);
    CHECK(worst_difference(plugged, native) < 1e-9);
  }
}

void check_incremental(std::uint64_t first, std::uint64_t last)
{
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const RandomSystem system{seed, seed > 1200, seed % 2 == 0};
    const auto full = test::isolated([&] { return system.finish_dates(Sharing::plugged_full); });
    const auto incremental = test::isolated([&] { return system.finish_dates(Sharing::plugged); });
    CHECK(worst_difference(incremental, full) < 1e-10);
  }
}

} // namespace

TEST_CASE("200 random systems end alike in the plugged model and in SimGrid's own",
          "[engine][oracle][many]")
{
  check_native(1, 200);
}

TEST_CASE("some random systems end alike in the plugged model and in SimGrid's own",
          "[engine][oracle]")
{
  check_native(201, 220);
}

TEST_CASE("incremental and full solve agree on random systems", "[engine][many]")
{
  check_incremental(1001, 1500);
}

TEST_CASE("incremental and full solve agree on some random systems", "[engine]")
{
  check_incremental(1196, 1210);
}

} // namespace foretrain::fuzz_test
