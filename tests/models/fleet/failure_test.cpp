#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::failure_test {

using namespace foretrain::models::fleet;
using test::job;

namespace {

// One job on all of some nodes, which fail.
FleetResult one_job(int nodes, double work, const FailureClass& law, const FleetSetting& asked,
                    std::uint64_t seed)
{
  Workload workload;
  workload.jobs = {job(0, nodes, work)};
  FleetSetting setting = asked;
  setting.shape = {nodes + asked.spares, 1, 0};
  setting.quotas = {{}};
  setting.outages = draw_outages({law}, setting.shape, seed);
  return simulate(workload, setting);
}

} // namespace

TEST_CASE("a failure takes back what was not saved, and a spare node takes over", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 2, 1000)};
  FleetSetting setting;
  setting.shape = {3, 1, 0};
  setting.spares = 1;
  setting.quotas = {{}};
  setting.detect = Seconds(10);
  setting.restart = Seconds(20);
  setting.checkpointing = {{Seconds(100), Seconds(0)}};
  const std::vector<Outage> trace{{Seconds(250), 1, 1, Seconds(5000)}};
  setting.outages = outages_of(trace);
  FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(1000 + 50 + 10 + 20));
  CHECK(result.jobs[0].restarts == 1);
  CHECK_THAT(result.gpu_time.lost, test::is(2 * 50));
  CHECK_THAT(result.gpu_time.restart, test::is(10 + 2 * 20)); // a spare stands by meanwhile
  CHECK(result.gpu_time.repair == 0);
  setting.shape.nodes = 2;
  setting.spares = 0;
  setting.outages = outages_of(trace);
  result = simulate(workload, setting); // waits for the repair
  CHECK(result.jobs[0].end == Seconds(5000 + 20 + 800));
  CHECK(result.jobs[0].waited_for == Cause::failure);
  CHECK_THAT(result.gpu_time.repair, test::is(5000 - 250));
}

TEST_CASE("a node that drains lets its jobs end, and is repaired then", "[fleet]")
{
  const int spares = GENERATE(0, 1);
  Workload workload;
  workload.jobs = {job(0, 1, 1000), job(0, 1, 400), job(150, 2, 50), job(200, 4, 10)};
  FleetSetting setting;
  setting.shape = {2 + spares, 2, 0};
  setting.spares = spares;
  setting.quotas = {{}};
  Outage drained{Seconds(100), 0, 1, Seconds(400)};
  drained.drained = true;
  setting.outages = outages_of({drained});
  const FleetResult result = simulate(workload, setting);
  CHECK(result.drained == 1);
  CHECK(result.failures == 0);
  CHECK(result.interruptions == 0);
  CHECK(result.jobs[0].end == Seconds(1000));
  CHECK(result.jobs[2].start == Seconds(150)); // on the other node
  CHECK(result.jobs[3].start == Seconds(spares > 0 ? 1000 : 1300));
  CHECK_THAT(result.gpu_time.repair, test::is(spares > 0 ? 600 : 600 + 2 * 300)); // from 400 on
  CHECK_THAT(result.gpu_time.total(), test::is(4 * result.end.value()));
  CHECK(result.gpu_time.restart == 0);
  CHECK(result.down_most == (spares > 0 ? 0 : 1));
}

TEST_CASE("a node that drains may still fail, and is repaired once", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 1, 1000), job(600, 2, 10)};
  FleetSetting setting;
  setting.shape = {1, 2, 0};
  setting.quotas = {{}};
  Outage drained{Seconds(100), 0, 1, Seconds(400)};
  drained.drained = true;
  setting.outages = outages_of({drained, {Seconds(300), 0, 1, Seconds(500)}});
  const FleetResult result = simulate(workload, setting);
  CHECK(result.failures == 1);
  CHECK(result.jobs[0].restarts == 1);
  CHECK(result.jobs[0].end == Seconds(1500)); // again from the beginning
  CHECK(result.jobs[1].end == Seconds(1510));
  CHECK_THAT(result.gpu_time.repair, test::is(200 + 2 * 200));
}

TEST_CASE("plans do not count on nodes that drain", "[fleet]")
{
  Policy policy;
  policy.backfill = GENERATE(Backfilling::easy, Backfilling::conservative);
  Workload workload; // the fourth one has three nodes at 1000, and would at 900 but for the drain
  workload.jobs = {job(0, 1, 300), job(0, 1, 900), job(0, 1, 1000), job(200, 3, 50),
                   job(200, 1, 740)};
  FleetSetting setting = test::one_gpu_nodes(4, policy);
  Outage drained{Seconds(100), 0, 1, Seconds(5100)};
  drained.drained = true;
  setting.outages = outages_of({drained});
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[3].start == Seconds(1000));
  CHECK(result.jobs[4].start == Seconds(200)); // ends before
}

TEST_CASE("a job that keeps its place leaves a node that drains", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 3, 1000)};
  FleetSetting setting = test::one_gpu_nodes(3);
  setting.keep_place = true;
  Outage drained{Seconds(100), 0, 1, Seconds(400)};
  drained.drained = true;
  setting.outages = outages_of({drained, {Seconds(200), 1, 1, Seconds(1000)}});
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(1000 + 1000)); // the first node was back at 500
  CHECK_THAT(result.gpu_time.held, test::is(800));
}

TEST_CASE("a checkpoint in memory goes with a node and the next one", "[fleet]")
{
  const auto run = [](int nodes, std::vector<Outage> outages) {
    Workload workload;
    workload.jobs = {job(0, nodes, 1000)};
    FleetSetting setting = test::one_gpu_nodes(nodes);
    setting.keep_place = true;
    setting.checkpointing = {{Seconds(100), Seconds(0)}};
    setting.checkpointing[0].in_memory = true;
    setting.outages = outages_of(std::move(outages));
    return simulate(workload, setting);
  };
  const auto down = [](double from, int first, int nodes, double until) {
    return Outage{Seconds(from), first, nodes, Seconds(until)};
  };
  const double kept = 1000 + 50 + 50; // of 250 s 200 are kept, and 50 s pass until the repair
  const double lost = 300 + 1000;
  CHECK(run(4, {down(250, 1, 1, 300)}).jobs[0].end.value() == kept);
  CHECK(run(4, {down(250, 0, 1, 300), down(250, 2, 1, 300)}).jobs[0].end.value() == kept);
  CHECK(run(4, {down(250, 3, 1, 300), down(250, 0, 1, 300)}).jobs[0].end.value() == lost);
  CHECK(run(1, {down(250, 0, 1, 300)}).jobs[0].end.value() == lost);
  const FleetResult two = run(4, {down(250, 1, 2, 300)});
  CHECK(two.jobs[0].end.value() == lost);
  CHECK_THAT(two.gpu_time.lost, test::is(4 * 250));
  // The second one while the job waits for the first.
  CHECK(run(4, {down(250, 1, 1, 400), down(300, 2, 1, 350)}).jobs[0].end.value() == 400 + 1000);
  CHECK(run(4, {down(250, 1, 1, 400), down(300, 3, 1, 350)}).jobs[0].end.value() == 400 + 800);
  // After it went on all nodes have copies again.
  CHECK(run(4, {down(250, 1, 1, 300), down(550, 2, 1, 600)}).jobs[0].end.value() == kept + 50 + 50);
}

TEST_CASE("what a job lost piece by piece on a node it gets back on one", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 8, 1000)};
  FleetSetting setting;
  setting.shape = {2, 4, 0};
  setting.quotas = {{}};
  setting.keep_place = true;
  std::vector<Outage> trace; // of each node one GPU, then the node
  for (const int node : {0, 1}) {
    trace.push_back({Seconds(100), node, 1, Seconds(400), Hits::gpu});
    trace.push_back({Seconds(150), node, 1, Seconds(400)});
  }
  setting.outages = outages_of(trace);
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(400 + 1000));
  CHECK(result.jobs[0].restarts == 1);
}

TEST_CASE("a job that needs more than is ever up is not awaited for ever", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 200, 10)};
  FleetSetting setting = test::one_gpu_nodes(200);
  const double day = 86400;
  std::vector<Outage> trace; // another node is down at each time, for ten years
  for (int i = 0; i < 3700; ++i)
    trace.push_back({Seconds(i * day), i % 200, 1, Seconds((i + 1.5) * day)});
  setting.outages = outages_of(trace);
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].state == JobState::waiting);
  CHECK(result.end.value() > 365 * day);
  CHECK(result.end.value() < 368 * day);
}

TEST_CASE("who comes late, to a node that is down, awaits its repair", "[fleet]")
{
  const double year = 366 * 86400;
  Workload workload;
  workload.jobs = {job(0, 1, 10), job(2 * year, 1, 10)};
  FleetSetting setting = test::one_gpu_nodes(1);
  setting.outages = outages_of({{Seconds(1.9 * year), 0, 1, Seconds(2.5 * year)}});
  CHECK(simulate(workload, setting).jobs[1].start == Seconds(2.5 * year));
  workload.jobs = {job(0, 1, 2 * year), job(0, 2, 10)}; // when the first ends, the other one waits
  setting = test::one_gpu_nodes(2);
  setting.outages = outages_of({{Seconds(0), 1, 1, Seconds(2.5 * year)}});
  CHECK(simulate(workload, setting).jobs[1].start == Seconds(2.5 * year));
}

TEST_CASE("what failed before the first job came is not counted", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(1000, 1, 1000)};
  FleetSetting setting = test::one_gpu_nodes(3);
  const auto down = [](double from, int node, double until, Hits hits = Hits::nodes) {
    return Outage{Seconds(from), node, 1, Seconds(until), hits};
  };
  setting.outages = outages_of({down(100, 0, 200), down(500, 1, 5000), down(900, 0, 950, Hits::gpu),
                                down(950, 0, 960, Hits::storage), down(1500, 2, 1600)});
  const FleetResult result = simulate(workload, setting);
  CHECK(result.failures == 1);
  CHECK(result.jobs[0].state == JobState::completed);
}

TEST_CASE("the effective share of run time is within 5 % of Meta's formula", "[fleet][closed-form]")
{
  const int nodes = GENERATE(64, 128, 256); // of 8 GPUs: 512 to 2,048
  const double per_second = 6.5e-3 / 86400;
  FleetSetting setting;
  setting.spares = nodes / 8;
  setting.restart = Seconds(600);
  setting.checkpointing = {{Seconds(3600), Seconds(60)}};
  const FailureClass law{
      Seconds(1 / per_second), FailureLaw::exponential, 1, {Seconds(3600), Seconds(7200)}};
  const FleetResult result = one_job(nodes, 200 * 86400.0, law, setting, 11);
  const double found = result.gpu_time.productive / (nodes * result.jobs[0].end.value());
  const double expected =
      expected_ettr(nodes * per_second, setting.restart, Seconds(3600), Seconds(60));
  CAPTURE(nodes, found, expected);
  CHECK(std::abs(found / expected - 1) < 0.05);
}

TEST_CASE("no interval of checkpoints loses less than Daly's", "[fleet][closed-form][many]")
{
  const Seconds write(120), between_failures(4 * 3600.0);
  const auto time = [&](double scale) {
    FleetSetting setting;
    setting.checkpointing = {{scale * daly_interval(write, between_failures), write}};
    const FailureClass law{between_failures, FailureLaw::exponential, 1, {Seconds(1), Seconds(1)}};
    double sum = 0; // the same failures for all intervals: differences are small
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      sum += one_job(1, 500 * 86400.0, law, setting, seed).jobs[0].end.value();
    return sum;
  };
  const double best = time(1);
  CHECK(best < time(0.5));
  CHECK(best < time(2));
  CHECK(best < 1.001 * time(0.85));
  CHECK(best < 1.001 * time(1.15));
}

TEST_CASE("Llama 3: 16,384 GPUs for 54 days are interrupted as often as failures say", "[fleet]")
{
  // One unexpected interruption per 3.09 h: 419 in 54 days (FLEET.md 3.1).
  const double between = 54 * 86400.0 / 419;
  FleetSetting setting;
  setting.spares = 60;
  setting.detect = Seconds(60);
  setting.restart = Seconds(300);
  setting.checkpointing = {{daly_interval(Seconds(10), Seconds(between)), Seconds(10)}};
  const FailureClass law{Seconds(2048 * between),
                         FailureLaw::exponential,
                         1,
                         {Seconds(20.4 * 3600), Seconds(24 * 3600)}};
  const FleetResult result = one_job(2048, 54 * 86400.0 * 0.9, law, setting, 2);
  const double days = result.end.value() / 86400;
  CAPTURE(days, result.interruptions);
  CHECK(std::abs(result.interruptions / days - 419 / 54.0) < 3 * std::sqrt(419) / 54);
  CHECK(result.gpu_time.productive / (2048 * result.end.value()) > 0.9);
}

namespace {

// Some jobs on nodes that fail as a list says.
FleetResult with_outages(const std::vector<Job>& jobs, FleetSetting setting,
                         const std::vector<Outage>& outages)
{
  Workload workload;
  workload.jobs = jobs;
  setting.quotas = {{}};
  setting.outages = outages_of(outages);
  return simulate(workload, setting);
}

FleetSetting nodes_with_spares(int nodes, int gpus, int spares)
{
  FleetSetting setting;
  setting.shape = {nodes + spares, gpus, 0};
  setting.spares = spares;
  return setting;
}

} // namespace

TEST_CASE("a cold spare is there when it has started, a repaired node before it if sooner",
          "[fleet]")
{
  FleetSetting setting = nodes_with_spares(2, 1, 1);
  setting.spare_start = Seconds(100);
  // It fails at 50; without checkpoints all is done again, from 150 on.
  FleetResult result =
      with_outages({job(0, 2, 1000)}, setting, {{Seconds(50), 0, 1, Seconds(900)}});
  CHECK(result.jobs[0].end == Seconds(50 + 100 + 1000));
  CHECK_THAT(result.gpu_time.repair, test::is(100));
  CHECK(result.down_most == 1);
  result = with_outages({job(0, 2, 1000)}, setting, {{Seconds(50), 0, 1, Seconds(60)}});
  CHECK(result.jobs[0].end == Seconds(60 + 1000));
  // The spare, in service by 150 but called no longer, takes over at once from who fails later.
  result = with_outages({job(0, 2, 1000)}, setting,
                        {{Seconds(50), 0, 1, Seconds(60)}, {Seconds(160), 1, 1, Seconds(900)}});
  CHECK(result.jobs[0].end == Seconds(160 + 100 + 1000));
  // One that fails while it starts does not come.
  result = with_outages({job(0, 2, 1000)}, setting,
                        {{Seconds(50), 0, 1, Seconds(900)}, {Seconds(100), 2, 1, Seconds(2000)}});
  CHECK(result.jobs[0].end == Seconds(900 + 1000));
  CHECK(result.failures == 1); // of nodes in service
}

TEST_CASE("one GPU takes the job that holds it, and the others of its node go on", "[fleet]")
{
  const FleetSetting setting = nodes_with_spares(1, 4, 0);
  const FleetResult result = with_outages({job(0, 2, 100), job(0, 2, 100), job(10, 2, 50)}, setting,
                                          {{Seconds(50), 0, 1, Seconds(1000), Hits::gpu, 1}});
  CHECK(result.jobs[1].end == Seconds(100)); // beside it
  CHECK(result.jobs[1].restarts == 0);
  CHECK(result.jobs[0].restarts == 1);
  // Three GPUs are left: the one that failed is first in the queue again, then the third.
  CHECK(result.jobs[0].end == Seconds(200));
  CHECK(result.jobs[2].start == Seconds(200));
  CHECK(result.failures == 1);
  CHECK_THAT(result.gpu_time.repair, test::is(200)); // of one GPU, until the last job has ended
  CHECK_THAT(result.gpu_time.total(), test::is(4 * 250));
}

TEST_CASE("a GPU that is broken is still so when its node comes back", "[fleet]")
{
  const FleetResult result =
      with_outages({job(0, 1, 10), job(100, 2, 10)}, nodes_with_spares(1, 2, 0),
                   {{Seconds(20), 0, 1, Seconds(500), Hits::gpu, 0},
                    {Seconds(30), 0, 1, Seconds(200)},
                    {Seconds(40), 0, 1, Seconds(90), Hits::gpu, 1}}); // down already: nothing new
  CHECK(result.jobs[1].start == Seconds(500));
  CHECK(result.failures == 2);
  CHECK_THAT(result.gpu_time.total(), test::is(2 * 510));
}

TEST_CASE("while storage is away jobs hang, and lose nothing", "[fleet]")
{
  FleetSetting setting = nodes_with_spares(2, 1, 0);
  setting.restart = Seconds(7);
  const FleetResult result =
      with_outages({job(0, 1, 100), job(0, 1, 100, 120), job(60, 1, 10)}, setting,
                   {{Seconds(50), 0, 1, Seconds(90), Hits::storage}});
  CHECK(result.jobs[0].end == Seconds(140));
  CHECK(result.jobs[0].lost == 0);
  CHECK(result.jobs[1].end == Seconds(120)); // its limit kills it
  CHECK(result.jobs[1].state == JobState::timeout);
  CHECK(result.jobs[2].end == Seconds(130));
  CHECK(result.interruptions == 0);
  CHECK_THAT(result.gpu_time.restart, test::is(2 * 40));
  // One that starts meanwhile waits for it, too.
  const FleetResult late = with_outages({job(0, 1, 10), job(60, 1, 10)}, setting,
                                        {{Seconds(50), 0, 1, Seconds(90), Hits::storage}});
  CHECK(late.jobs[1].start == Seconds(60));
  CHECK(late.jobs[1].end == Seconds(100));
}

TEST_CASE("a job that keeps its place waits on its other nodes, before all others", "[fleet]")
{
  const Backfilling backfill =
      GENERATE(Backfilling::none, Backfilling::easy, Backfilling::conservative);
  FleetSetting setting = nodes_with_spares(4, 2, 0);
  setting.policy.backfill = backfill;
  setting.detect = Seconds(10);
  // Eight GPUs: one job on three nodes, one on the fourth; two wait, of which the second is first
  // in no order but would fit on what the failed job gives back.
  const std::vector<Job> jobs{job(0, 6, 1000, 1000), job(0, 2, 300, 300), job(1, 8, 50, 50),
                              job(2, 4, 50, 50)};
  const std::vector<Outage> outages{{Seconds(100), 0, 1, Seconds(2000)}};
  setting.keep_place = true;
  const FleetResult kept = with_outages(jobs, setting, outages);
  CHECK(kept.jobs[0].end == Seconds(300 + 1000)); // on the node of the second job, when it ends
  CHECK(kept.jobs[0].restarts == 1);
  CHECK(kept.jobs[3].start == Seconds(backfill == Backfilling::none ? 2050 : 1300));
  CHECK(kept.jobs[2].start == Seconds(2000)); // of all nodes
  // Four GPUs are held from 110 to 300, and the node that failed is out until 2000.
  CHECK_THAT(kept.gpu_time.held, test::is(4 * 190));
  CHECK_THAT(kept.gpu_time.repair, test::is(2 * 1900));
  CHECK_THAT(kept.gpu_time.restart, test::is(4 * 10));
  CHECK_THAT(kept.gpu_time.total(), test::is(8 * kept.end.value()));
  setting.keep_place = false;
  const FleetResult queued = with_outages(jobs, setting, outages);
  CHECK(queued.gpu_time.held == 0);
  CHECK(queued.jobs[0].end == Seconds(300 + 1000)); // first in the queue as well: it came first
  CHECK_THAT(queued.gpu_time.total(), test::is(8 * queued.end.value()));
}

TEST_CASE("a place is kept although others are to go first", "[fleet]")
{
  FleetSetting setting = nodes_with_spares(2, 1, 0);
  setting.policy.order = Order::sjf;
  const std::vector<Job> jobs{job(0, 2, 1000, 1000), job(1, 1, 10, 10), job(2, 1, 400, 400)};
  const std::vector<Outage> outages{{Seconds(100), 0, 1, Seconds(200)}};
  CHECK(with_outages(jobs, setting, outages).jobs[0].end == Seconds(510 + 1000));
  setting.keep_place = true;
  CHECK(with_outages(jobs, setting, outages).jobs[0].end == Seconds(200 + 1000));
  // Its other node fails, too: then it waits for both.
  const std::vector<Outage> both{{Seconds(100), 0, 1, Seconds(200)},
                                 {Seconds(150), 1, 1, Seconds(300)}};
  CHECK(with_outages(jobs, setting, both).jobs[0].end == Seconds(300 + 1000));
  // What is repaired before it is noticed: it goes on where it is.
  setting.detect = Seconds(150);
  const FleetResult noticed = with_outages(jobs, setting, outages);
  CHECK(noticed.jobs[0].end == Seconds(250 + 1000));
  CHECK(noticed.jobs[1].start == Seconds(1250));
}

TEST_CASE("a kept place counts once in its queue's quota", "[fleet]")
{
  FleetSetting setting = nodes_with_spares(5, 1, 0);
  setting.keep_place = true;
  Workload workload;
  workload.jobs = {job(0, 2, 1000), job(300, 2, 10)};
  setting.quotas = {{4, false}};
  setting.outages = outages_of({{Seconds(100), 0, 1, Seconds(200)}});
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].restarts == 1);
  CHECK(result.jobs[0].end == Seconds(1100)); // on another node at once
  CHECK(result.jobs[1].start == Seconds(300));
}

} // namespace foretrain::failure_test
