#include "models/fleet/leases.hpp"

#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::leases_test {

using namespace foretrain::models::fleet;

namespace {

FleetResult replayed(const std::vector<Job>& jobs, std::vector<Lease> leases, int nodes = 2,
                     Seconds restart = Seconds(0))
{
  Workload workload;
  workload.jobs = jobs;
  FleetSetting setting = test::one_gpu_nodes(nodes);
  setting.restart = restart;
  setting.history = true;
  setting.decide = follow_leases(std::move(leases));
  return simulate(workload, setting);
}

Lease lease(JobId job, double start, double end, std::vector<int> nodes)
{
  return {job, Seconds(start), Seconds(end), std::move(nodes)};
}

} // namespace

TEST_CASE("jobs run when and where their leases say", "[fleet]")
{
  // The second is done within its lease, the first needs its second one and a restart.
  const auto result = replayed(
      {test::job(0, 1, 150), test::job(0, 1, 40)},
      {lease(1, 10, 100, {0}), lease(0, 20, 120, {1}), lease(0, 200, 400, {0})}, 2, Seconds(5));
  CHECK(result.jobs[1].start == Seconds(10));
  CHECK(result.jobs[1].end == Seconds(50));
  CHECK(result.jobs[0].start == Seconds(20));
  CHECK(result.jobs[0].end == Seconds(255)); // 100 s, then 5 of restart and 50
  CHECK(result.jobs[0].preemptions == 1);
}

TEST_CASE("a lease that follows on the same nodes goes on, on others the job moves", "[fleet]")
{
  const std::vector<Job> jobs{test::job(0, 1, 150)};
  CHECK(
      replayed(jobs, {lease(0, 0, 100, {1}), lease(0, 100, 200, {1})}, 2, Seconds(5)).jobs[0].end ==
      Seconds(150));
  const auto moved =
      replayed(jobs, {lease(0, 0, 100, {1}), lease(0, 100, 200, {0})}, 2, Seconds(5));
  CHECK(moved.jobs[0].end == Seconds(155));
  CHECK(moved.jobs[0].preemptions == 1);
}

TEST_CASE("of two that end and begin on a node at once the first makes room", "[fleet]")
{
  const auto result = replayed({test::job(0, 2, 150), test::job(0, 1, 30), test::job(0, 1, 50)},
                               {lease(0, 0, 100, {0, 1}), lease(1, 100, 130, {0}),
                                lease(2, 100, 150, {1}), lease(0, 150, 300, {0, 1})});
  CHECK(result.jobs[1].start == Seconds(100));
  CHECK(result.jobs[2].start == Seconds(100));
  CHECK(result.jobs[0].end == Seconds(200));
}

TEST_CASE("a job that is not done after its last lease keeps its GPUs, and the next one waits",
          "[fleet]")
{
  const auto result = replayed({test::job(0, 1, 120), test::job(0, 1, 30)},
                               {lease(0, 0, 100, {0}), lease(1, 100, 200, {0})}, 1);
  CHECK(result.jobs[0].end == Seconds(120));
  CHECK(result.jobs[0].preemptions == 0);
  CHECK(result.jobs[1].start == Seconds(120));
}

TEST_CASE("a job without a lease gets what leases leave over", "[fleet]")
{
  const auto result =
      replayed({test::job(0, 1, 50), test::job(0, 1, 100)}, {lease(1, 0, 100, {0})}, 2);
  CHECK(result.jobs[0].start == Seconds(0));
  CHECK(result.jobs[0].end == Seconds(50));
  CHECK(result.jobs[1].start == Seconds(0));
  // Where nothing is left over it waits for the end of the lease.
  CHECK(replayed({test::job(0, 1, 50), test::job(0, 1, 100)}, {lease(1, 0, 100, {0})}, 1)
            .jobs[0]
            .start == Seconds(100));
}

TEST_CASE("a job without a lease takes no GPU that a lease needs before it is done", "[fleet]")
{
  // The lease begins after 10 s: who takes 9 s goes before, who takes 40 s after it, or beside it
  // on the other node.
  const std::vector<Lease> leases{lease(0, 10, 60, {0})};
  const auto starts = [&](double work, int nodes) {
    const auto result = replayed({test::job(0, 1, 50), test::job(0, 1, work)}, leases, nodes);
    CHECK(result.jobs[0].start == Seconds(10));
    return result.jobs[1].start.value();
  };
  CHECK(starts(9, 1) == 0);
  CHECK(starts(40, 1) == 60);
  CHECK(starts(40, 2) == 0);
  // What is leased now is there again when its lease ends; two nodes are more than one has left.
  const auto result = replayed({test::job(0, 1, 20), test::job(0, 1, 30), test::job(0, 2, 15)},
                               {lease(0, 0, 20, {0}), lease(1, 40, 70, {1})});
  CHECK(result.jobs[2].start == Seconds(20));
  CHECK(result.jobs[1].start == Seconds(40));
  // Who is done early has given its GPU back already, and the end of its lease gives no other one.
  const auto early = replayed({test::job(0, 1, 10), test::job(0, 1, 20), test::job(12, 1, 40)},
                              {lease(0, 0, 30, {0}), lease(1, 40, 60, {0})}, 1);
  CHECK(early.jobs[1].start == Seconds(40));
  CHECK(early.jobs[2].start == Seconds(60));
}

TEST_CASE(
    "a job without a lease that nodes cannot share evenly is placed when no lease is in the way",
    "[fleet]")
{
  Workload workload;
  workload.jobs = {test::job(0, 2, 50), test::job(0, 3, 20)};
  FleetSetting setting = test::one_gpu_nodes(2);
  setting.shape.gpus_per_node = 2;
  setting.decide = follow_leases({lease(0, 10, 60, {0})});
  const auto result = simulate(workload, setting);
  CHECK(result.jobs[0].start == Seconds(10));
  CHECK(result.jobs[1].start == Seconds(60)); // two GPUs on one node, one on the other
}

TEST_CASE("a job that comes after its lease has begun starts then", "[fleet]")
{
  const auto result = replayed({test::job(0, 1, 10), test::job(50, 1, 20)},
                               {lease(0, 0, 10, {1}), lease(1, 0, 100, {0})});
  CHECK(result.jobs[1].start == Seconds(50));
  CHECK(result.jobs[1].end == Seconds(70));
}

} // namespace foretrain::leases_test
