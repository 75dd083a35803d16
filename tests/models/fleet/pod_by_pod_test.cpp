// Pods of a job that are placed one by one, as Kubernetes does without a gang scheduler.
#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::pod_by_pod_test {

using namespace foretrain::models::fleet;
using test::job;

TEST_CASE("pods that are placed one by one can wait for each other for ever", "[fleet]")
{
  Workload workload; // beside the first job, on one of three nodes, one of two each for the others
  workload.jobs = {job(0, 4, 10), job(0, 12, 10), job(0, 8, 10)};
  const auto run = [&](bool gang) {
    FleetSetting setting;
    setting.shape = {3, 4, 0};
    setting.policy.gang = gang;
    setting.quotas = {{}};
    return simulate(workload, setting);
  };
  CHECK(run(true).stuck == 0);
  const FleetResult pods = run(false);
  CHECK(pods.stuck == 2);
  CHECK(pods.jobs[1].state == JobState::waiting);
}

TEST_CASE("who waits for pods waits for GPUs, who does not wait for nothing", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 4, 100), job(10, 4, 100)};
  FleetSetting setting;
  setting.shape = {1, 4, 0};
  setting.policy.gang = false;
  setting.quotas = {{}};
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].waited_for == Cause::nothing);
  CHECK(result.jobs[1].waited_for == Cause::gpus);
  setting.quotas = {{3, false}, {8, true}};
  workload.jobs[1].gpus = 3;
  workload.jobs.push_back(job(20, 3, 10));
  workload.jobs[0].queue = 1;
  CHECK(simulate(workload, setting).jobs[2].waited_for == Cause::quota);
}

} // namespace foretrain::pod_by_pod_test
