// Closed forms that must hold in our model and in SimGrid's own.
#include "sim/engine/engine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/isolated.hpp"

namespace foretrain::closed_forms_test {

using namespace foretrain::sim;
using test::isolated;

namespace {
constexpr Sharing kBoth[] = {Sharing::plugged, Sharing::native};

// Finish dates of flows given as (path index, amount), all started at 0.
struct Scene {
  std::vector<double> capacities;
  std::vector<PathPtr> paths;
  std::vector<std::pair<int, double>> flows;

  std::vector<double> run(Sharing sharing) const
  {
    return isolated([&] {
      Engine engine(sharing);
      for (std::size_t r = 0; r < capacities.size(); ++r)
        engine.add_resource("r" + std::to_string(r), capacities[r]);
      for (const auto& path : paths)
        engine.declare(path);
      std::vector<double> finish(flows.size());
      for (std::size_t f = 0; f < flows.size(); ++f)
        engine.start({paths[static_cast<std::size_t>(flows[f].first)], flows[f].second, 1, "flow"},
                     [&finish, f](const FlowRecord& r) { finish[f] = r.finish.value(); });
      engine.run();
      return finish;
    });
  }
};
} // namespace

TEST_CASE("point to point takes latency + size / bandwidth", "[engine][closed-form]")
{
  for (const Sharing sharing : kBoth) {
    const Scene scene{{12.5e9}, {make_path({{0, 1.0}}, Seconds(1.5e-6))}, {{0, 1e9}}};
    CHECK_THAT(scene.run(sharing)[0], test::is(1.5e-6 + 1e9 / 12.5e9));
  }
}

TEST_CASE("two flows halve a link, the longer one speeds up afterwards", "[engine][closed-form]")
{
  for (const Sharing sharing : kBoth) {
    const Scene scene{{10e9}, {make_path({{0, 1.0}})}, {{0, 1e9}, {0, 3e9}}};
    const auto finish = scene.run(sharing);
    CHECK_THAT(finish[0], test::is(0.2));
    CHECK_THAT(finish[1], test::is(0.4));
  }
}

TEST_CASE("weight counts as so many bytes, a cap holds, the rest goes to others",
          "[engine][closed-form]")
{
  for (const Sharing sharing : kBoth) {
    const Scene scene{
        {9e9}, {make_path({{0, 2.0}}), make_path({{0, 1.0}}, {}, 1e9)}, {{0, 4e9}, {1, 1e9}}};
    const auto finish = scene.run(sharing); // 2 x + 1 = 9: x = 4 GB/s
    CHECK_THAT(finish[0], test::is(1.0));
    CHECK_THAT(finish[1], test::is(1.0));
  }
}

} // namespace foretrain::closed_forms_test
