#include "experiments/fleet/seed_workers.hpp"

#include "experiments/fleet/fleet_answer.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <unistd.h>

#include <csignal>

namespace foretrain::seed_workers_test {

using namespace foretrain::experiments;

namespace {

// Seeds that tell their number; one of them kills its process, but not ours.
class Numbered final : public SeedWork {
public:
  Numbered(SpeedTable& table, int deadly) : table_(table), deadly_(deadly), us_(getpid()) {}

  FleetRun prepare(int index) const override
  {
    FleetRun run;
    run.seed = 100 + static_cast<std::uint64_t>(index);
    return run;
  }
  void simulate(FleetRun& run, int index) const override
  {
    if (index == deadly_ && getpid() != us_)
      std::raise(SIGKILL);
    run.result.failures = 10 * index;
    run.result.jobs.resize(2);
    run.result.jobs[1].lost = index / 8.0;
    run.result.spans = {{7, {index, 3}, Seconds(1), Seconds(2)}};
    run.result.gpu_time.held = 0.5 * index;
    table_.learn("situation " + std::to_string(index),
                 {{1.0 * index, 2}, {0, 5}, {{"storage/disks", -1, 0.25}, {"leaf1/up", 18, 0.5}}});
  }

  // Those that are deadly leave nothing behind.
  std::string name(int index) const override
  {
    return index == deadly_ ? "" : "seed-" + std::to_string(index);
  }

private:
  SpeedTable& table_;
  int deadly_;
  pid_t us_;
};

SpeedTable no_table()
{
  return SpeedTable({});
}

} // namespace

TEST_CASE("seeds come back from their processes in order, also when one is killed", "[fleet]")
{
  const int deadly = GENERATE(-1, 1, 4);
  SpeedTable table = no_table();
  std::vector<int> told;
  const Numbered seeds(table, deadly);
  const auto runs =
      SeedRunner{seeds, table}.run({1, 2, 3, 4, 5}, 2, [&](int ended) { told.push_back(ended); });
  REQUIRE(runs.size() == 5);
  for (int i = 0; i < 5; ++i) {
    const FleetRun& run = runs[static_cast<std::size_t>(i)];
    CHECK(run.seed == 101 + static_cast<std::uint64_t>(i));
    CHECK(run.result.failures == 10 * (i + 1));
    REQUIRE(run.result.jobs.size() == 2);
    CHECK(run.result.jobs[1].lost == (i + 1) / 8.0);
    REQUIRE(run.result.spans.size() == 1);
    CHECK(run.result.spans[0].slice.node == i + 1);
    CHECK(run.result.gpu_time.held == 0.5 * (i + 1));
  }
  CHECK(told == std::vector<int>{1, 2, 3, 4, 5});
  CHECK(table.situations() == 5); // also those that were simulated elsewhere
  const PointRates third{{3, 2}, {0, 5}, {{"storage/disks", -1, 0.25}, {"leaf1/up", 18, 0.5}}};
  CHECK(table.known().at("situation 3") == third);
}

TEST_CASE("a fleet's answer does not depend on how many seeds run at a time", "[fleet]")
{
  const test::TextFile file("fleet.json", R"({
    "cluster": {"nodes": 6, "gpus_per_node": 4}, "policy": "conservative",
    "arrivals": {"per_hour": 3, "until": "10 d", "mix": [
      {"gpus": 2, "run_time": "3 h", "law": "exponential"}, {"gpus": 8, "run_time": "2 h"}]},
    "failures": {"per_1000_node_days": 50, "repair": {"median": "2 h", "mean": "5 h"}}})");
  const LoadedFleet fleet = load_fleet(file.path(), {}, "");
  FleetOptions options{1, 5, false, {}};
  const std::string alone = written(fleet_answer(fleet, run_fleet(fleet, options))).dump();
  options.jobs = 3;
  CHECK(written(fleet_answer(fleet, run_fleet(fleet, options))).dump() == alone);
}

TEST_CASE("what a seed refuses is refused by us, whatever process finds it", "[fleet]")
{
  class Refusing final : public SeedWork {
    FleetRun prepare(int) const override { return {}; }
    void simulate(FleetRun&, int index) const override
    {
      if (index == 2)
        throw std::runtime_error("no such thing");
    }
    std::string name(int) const override { return {}; }
  };
  SpeedTable table = no_table();
  const Refusing seeds;
  CHECK_THROWS_WITH((SeedRunner{seeds, table}.run({1, 2, 3}, 2, [](int) {})), "no such thing");
}

} // namespace foretrain::seed_workers_test
