#include "models/fleet/simulation.hpp"
#include "sim/base/catalog.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <sstream>

namespace foretrain::backfill_test {

using namespace foretrain::models::fleet;
using test::job;

namespace {

// Batsim's schedules of 801 jobs on 32 machines (experiments/validation/fleet/batsim-801.csv).
struct Oracle {
  Workload workload;
  std::vector<double> easy, conservative; // starts
};

Oracle read_oracle()
{
  Oracle oracle;
  std::ifstream in(data_root() / "experiments/validation/fleet/batsim-801.csv");
  std::string line;
  std::getline(in, line); // the header
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');)
      cells.push_back(cell);
    oracle.workload.jobs.push_back(
        job(std::stod(cells[1]), std::stoi(cells[2]), std::stod(cells[4]), std::stod(cells[3])));
    oracle.easy.push_back(std::stod(cells[5]));
    oracle.conservative.push_back(std::stod(cells[7]));
  }
  REQUIRE(oracle.easy.size() == 801);
  return oracle;
}

std::size_t same_starts(const FleetResult& result, const std::vector<double>& starts)
{
  std::size_t same = 0;
  for (std::size_t i = 0; i < starts.size(); ++i)
    same += std::abs(result.jobs[i].start.value() - starts[i]) < 1e-5 ? 1U : 0U; // as printed
  return same;
}

} // namespace

TEST_CASE("EASY backfilling starts all 801 jobs when Batsim does", "[fleet][oracle]")
{
  const Oracle oracle = read_oracle();
  const FleetResult result =
      simulate(oracle.workload, test::one_gpu_nodes(32, {.backfill = Backfilling::easy}));
  CHECK(same_starts(result, oracle.easy) == 801);
  CHECK(std::abs(test::mean_wait(oracle.workload, result) - 9.516326) < 1e-5);
  CHECK(std::abs((result.end - result.start).value() - 16088.51) < 1e-5);
}

TEST_CASE("conservative backfilling starts all 801 jobs when Batsim does", "[fleet][oracle]")
{
  const Oracle oracle = read_oracle();
  const FleetResult result =
      simulate(oracle.workload, test::one_gpu_nodes(32, {.backfill = Backfilling::conservative}));
  CHECK(same_starts(result, oracle.conservative) == 801);
}

TEST_CASE("a strict order lets nobody pass, EASY only who delays nobody", "[fleet]")
{
  // Three of four GPUs run for 10 s; the next job needs all four; behind it a short and a long one.
  Workload workload;
  workload.jobs = {job(0, 3, 10, 10), job(1, 4, 5, 5), job(2, 1, 8, 8), job(2, 1, 9, 9)};
  const auto starts = [&](Backfilling backfill) {
    const FleetResult result = simulate(workload, test::one_gpu_nodes(4, {.backfill = backfill}));
    return std::vector<double>{result.jobs[1].start.value(), result.jobs[2].start.value(),
                               result.jobs[3].start.value()};
  };
  CHECK(starts(Backfilling::none) == std::vector<double>{10, 15, 15});
  CHECK(starts(Backfilling::easy) == std::vector<double>{10, 2, 15}); // 2 + 9 is too late
  CHECK(starts(Backfilling::conservative) == std::vector<double>{10, 2, 15});
}

TEST_CASE("conservative backfilling looks no deeper into the queue than it may", "[fleet]")
{
  // Three of four GPUs run for 10 s, then one job needs all four; behind it short ones.
  Workload workload;
  workload.jobs = {job(0, 3, 10, 10), job(1, 4, 5, 5), job(2, 1, 3, 3), job(3, 1, 4, 4)};
  const auto run = [&](Order order, int depth) {
    return simulate(
        workload, test::one_gpu_nodes(
                      4, {.order = order, .backfill = Backfilling::conservative, .depth = depth}));
  };
  const auto starts = [](const FleetResult& result) {
    return std::vector<double>{result.jobs[1].start.value(), result.jobs[2].start.value(),
                               result.jobs[3].start.value()};
  };
  // Equal priorities are in the order of arrival, and planned anew.
  for (const Order order : {Order::fifo, Order::priority}) {
    CHECK(starts(run(order, 3)) == std::vector<double>{10, 2, 5});
    CHECK(starts(run(order, 2)) == std::vector<double>{10, 2, 5}); // once the other has started
    const FleetResult first_only = run(order, 1);
    // Who starts lets the next be looked at, in the same moment.
    CHECK(starts(first_only) == std::vector<double>{10, 15, 15});
    CHECK(first_only.jobs[1].waited_for == Cause::gpus);
    CHECK(first_only.jobs[2].waited_for == Cause::depth);
    CHECK(first_only.jobs[3].waited_for == Cause::depth);
  }
}

TEST_CASE("jobs say what they waited for", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 3, 10, 10), job(1, 4, 5, 5), job(2, 1, 9, 9), job(2, 1, 3, 3)};
  const auto causes = [&](Backfilling backfill) {
    const FleetResult result = simulate(workload, test::one_gpu_nodes(4, {.backfill = backfill}));
    return std::vector<Cause>{result.jobs[0].waited_for, result.jobs[1].waited_for,
                              result.jobs[2].waited_for};
  };
  CHECK(causes(Backfilling::none) == std::vector{Cause::nothing, Cause::gpus, Cause::order});
  CHECK(causes(Backfilling::easy) == std::vector{Cause::nothing, Cause::gpus, Cause::guard});
  // From 2 to 5 and from 10 on others have the last GPU, from 5 to 10 it would delay the second.
  CHECK(causes(Backfilling::conservative) == std::vector{Cause::nothing, Cause::gpus, Cause::gpus});
}

TEST_CASE("jobs of one second wait for what those of different ones wait for", "[fleet]")
{
  for (const double apart : {0.0, 1.0}) {
    Workload workload;
    for (int i = 0; i < 5; ++i)
      workload.jobs.push_back(job(apart * i, 4, 100, 100));
    const FleetResult result =
        simulate(workload, test::one_gpu_nodes(4, {.backfill = Backfilling::conservative}));
    for (std::size_t i = 1; i < 5; ++i)
      CHECK(result.jobs[i].waited_for == Cause::gpus);
  }
}

TEST_CASE("who waits for its queue's quota at its planned time says so", "[fleet]")
{
  // All three find GPUs at once, and two of them fill the quota.
  Workload workload;
  workload.jobs = {job(0, 1, 300, 300), job(0, 1, 100, 100), job(0, 1, 50, 50)};
  FleetSetting setting = test::one_gpu_nodes(4, {.backfill = Backfilling::conservative});
  setting.quotas = {{.gpus = 2, .borrow = false}};
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[2].start == Seconds(100));
  CHECK(result.jobs[2].waited_for == Cause::quota);
}

} // namespace foretrain::backfill_test
