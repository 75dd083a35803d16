// Checkpoints are written to and read from storage that jobs share.
#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::checkpoint_storage_test {

using namespace foretrain::models::fleet;
using test::job;

TEST_CASE("writes take as long as those who use the same storage let them", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 4, 100), job(0, 4, 100)};
  FleetSetting setting;
  setting.shape = {2, 4, 0};
  setting.quotas = {{}};
  setting.checkpointing = {{Seconds(60), Seconds(10)}};
  setting.checkpointing[0].felt = true;
  double share = 0.6;
  setting.speeds.shared = [&](const Placed& job) {
    return job.transfer != Transfer::none ? std::vector<SharedUse>{{1, share}}
                                          : std::vector<SharedUse>{};
  };
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    std::vector<JobRate> rates;
    for (const Placed& job : jobs)
      rates.push_back(
          {job.transfer == Transfer::write_alone ? 0.0 : 1.0, jobs.size() == 1 ? 1.0 : 0.5});
    return rates;
  };
  FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(100 + 20)); // both write at half rate
  CHECK(result.gpu_time.checkpoint == 2 * 4 * 20);
  CHECK(result.gpu_time.productive == 2 * 4 * 100);
  share = 0.4; // enough for both
  result = simulate(workload, setting);
  CHECK(result.jobs[1].end == Seconds(100 + 10));

  // The second one comes 5 s later: 5 alone, 10 together, 5 alone.
  share = 0.6;
  workload.jobs[1].submit = Seconds(5);
  result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(100 + 5 + 10));
  CHECK(result.jobs[1].end == Seconds(5 + 100 + 10 + 5));

  // Beside the work: a failure at 71 finds a write of 60 that is not done in the one case.
  setting.checkpointing[0].asynchronous = true;
  workload.jobs[1].submit = Seconds(0);
  const std::vector<Outage> outages{{Seconds(75), 0, 1, Seconds(1000)}};
  setting.outages = outages_of(outages);
  setting.shape.nodes = 3;
  CHECK(simulate(workload, setting).jobs[0].lost == 4 * 75);
  share = 0.4;
  setting.outages = outages_of(outages);
  CHECK(simulate(workload, setting).jobs[0].lost == 4 * 15);
}

TEST_CASE("a job that goes on reads its last checkpoint", "[fleet][closed-form]")
{
  Workload workload;
  workload.jobs = {job(0, 4, 100)};
  FleetSetting setting;
  setting.shape = {2, 4, 0};
  setting.quotas = {{}};
  setting.detect = Seconds(3);
  setting.restart = Seconds(5);
  setting.history = true;
  setting.checkpointing = {{Seconds(60), Seconds(10)}};
  setting.checkpointing[0].read = Seconds(7);
  setting.checkpointing[0].felt = GENERATE(false, true);
  if (setting.checkpointing[0].felt)
    setting.speeds.rates = [](std::span<const Placed> jobs) {
      return std::vector<JobRate>(jobs.size());
    };
  // It writes from 60 to 70, fails at 90, and has 40 to do.
  std::vector<Outage> outages{{Seconds(90), 0, 1, Seconds(1000)}};
  setting.outages = outages_of(outages);
  FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(90 + 3 + 5 + 7 + 40));
  CHECK(result.jobs[0].lost == 4 * 20);
  CHECK(result.gpu_time.restart == 4 * (5 + 7)); // until then its node is down
  const auto shown = [&](Overhead what) {
    Seconds sum{};
    for (const OverheadSpan& span : result.overheads)
      sum += span.what == what ? span.until - span.from : Seconds(0);
    return sum;
  };
  CHECK(shown(Overhead::checkpoint) == Seconds(10));
  CHECK(shown(Overhead::lost) == Seconds(20));
  CHECK(shown(Overhead::restart) == Seconds(3 + 5 + 7));
  // At 50 there is none.
  outages.front().time = Seconds(50);
  setting.outages = outages_of(outages);
  result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(50 + 3 + 5 + 100 + 10));
  // A failure while it reads takes nothing but that time: it waits for the first repair.
  outages = {{Seconds(90), 0, 1, Seconds(200)}, {Seconds(100), 1, 1, Seconds(1000)}};
  setting.outages = outages_of(outages);
  result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(200 + 5 + 7 + 40));
  CHECK(result.jobs[0].lost == 4 * 20);
}

TEST_CASE("reads of checkpoints take as long as those who use the same storage let them", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 4, 100), job(0, 4, 100)};
  FleetSetting setting;
  setting.shape = {4, 4, 0};
  setting.quotas = {{}};
  setting.checkpointing = {{Seconds(60), Seconds(0)}};
  setting.checkpointing[0].read = Seconds(10);
  setting.checkpointing[0].felt = true;
  double share = 0.6;
  setting.speeds.shared = [&](const Placed& job) {
    return job.transfer == Transfer::read ? std::vector<SharedUse>{{1, share}}
                                          : std::vector<SharedUse>{};
  };
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    return std::vector<JobRate>(jobs.size(), JobRate{1, jobs.size() == 1 ? 1.0 : 0.5});
  };
  const std::vector<Outage> both{{Seconds(70), 0, 2, Seconds(1000)}};
  setting.outages = outages_of(both);
  FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(70 + 20 + 40)); // both read at half rate
  CHECK(result.gpu_time.restart == 2 * 4 * 20);
  share = 0.4; // enough for both
  setting.outages = outages_of(both);
  CHECK(simulate(workload, setting).jobs[1].end == Seconds(70 + 10 + 40));
  // The second one fails 5 s later: 5 alone, 10 together, 5 alone.
  share = 0.6;
  setting.outages = outages_of(
      std::vector<Outage>{{Seconds(70), 0, 1, Seconds(1000)}, {Seconds(75), 1, 1, Seconds(1000)}});
  result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(70 + 15 + 40));
  CHECK(result.jobs[1].end == Seconds(75 + 15 + 40));
}

} // namespace foretrain::checkpoint_storage_test
