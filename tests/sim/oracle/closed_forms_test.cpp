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

TEST_CASE("weights of up to 64 count alike in both, and a path over several resources waits for "
          "the slowest",
          "[engine][closed-form]")
{
  for (const Sharing sharing : kBoth) {
    const Scene scene{{64e9, 4e9, 1e9},
                      {make_path({{0, 64.0}, {1, 2.0}}), make_path({{2, 1.0}}, Seconds(0.5))},
                      {{0, 1e9}, {1, 1e9}}};
    const auto finish = scene.run(sharing); // 64 x = 64, 2 x < 4
    CHECK_THAT(finish[0], test::is(1.0));
    CHECK_THAT(finish[1], test::is(1.5));
  }
}

TEST_CASE("SimGrid's own sharing refuses what it has no route for", "[engine][errors]")
{
  // Ends of an isolated run with an error are an error here.
  for (const double weight : {0.5, 65.0})
    CHECK_THROWS(Scene{{1e9}, {make_path({{0, weight}})}, {{0, 1.0}}}.run(Sharing::native));
  CHECK_NOTHROW(Scene{{1e9}, {make_path({{0, 0.5}})}, {{0, 1.0}}}.run(Sharing::plugged));
}

TEST_CASE("runs of one process begin where the last one ended, each at its own zero",
          "[engine][closed-form]")
{
  const auto finish = isolated([] {
    std::vector<double> dates;
    for (int run = 0; run < 3; ++run) {
      Engine engine;
      engine.add_resource("r", 1e9);
      const auto path = make_path({{0, 1.0}}, Seconds(0.25));
      engine.start({path, 1e9, 1, "flow"},
                   [&dates](const FlowRecord& r) { dates.push_back(r.finish.value()); });
      engine.run();
      dates.push_back(engine.now().value());
    }
    return dates;
  });
  CHECK(finish == std::vector<double>(6, 1.25));
}

} // namespace foretrain::closed_forms_test
