#include "models/fleet/maintenance.hpp"

#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::maintenance_test {

using namespace foretrain::models::fleet;
using test::job;

namespace {

FleetSetting on_nodes(int nodes, int gpus, const Policy& policy, std::vector<Window> windows)
{
  FleetSetting setting;
  setting.shape = {nodes, gpus, 0};
  setting.policy = policy;
  setting.quotas = {{}};
  setting.windows = std::move(windows);
  setting.history = true;
  return setting;
}

std::vector<double> starts(const FleetResult& result)
{
  std::vector<double> found;
  for (const JobOutcome& outcome : result.jobs)
    found.push_back(outcome.start.value());
  return found;
}

} // namespace

TEST_CASE("jobs that would not end before maintenance are held back", "[fleet]")
{
  // One GPU, out of service from 100 to 150. The first job ends at 60; the second takes 50.
  Workload workload;
  workload.jobs = {job(0, 1, 60, 60), job(0, 1, 50, 50), job(0, 1, 30, 30), job(0, 1, 40, 40)};
  const std::vector<Window> windows{{Seconds(100), Seconds(150), 0, 1}};
  const FleetResult in_order = simulate(workload, on_nodes(1, 1, {}, windows));
  CHECK(starts(in_order) == std::vector<double>{0, 150, 200, 230});
  CHECK(in_order.jobs[1].waited_for == Cause::maintenance); // from 60 to 150
  CHECK(in_order.jobs[2].waited_for == Cause::order);
  CHECK_THAT(in_order.gpu_time.repair, test::is(50));
  CHECK_THAT(in_order.gpu_time.queued, test::is(40));
  CHECK(in_order.interruptions == 0);
  // What ends before fills the time; 40 after 60 end just in time, behind them nothing is left.
  for (const Backfilling backfill : {Backfilling::easy, Backfilling::conservative}) {
    const FleetResult filled = simulate(workload, on_nodes(1, 1, {.backfill = backfill}, windows));
    CHECK(starts(filled) == std::vector<double>{0, 150, 60, 200});
    Workload longer = workload;
    longer.jobs[2] = job(0, 1, 41, 41);
    CHECK(starts(simulate(longer, on_nodes(1, 1, {.backfill = backfill}, windows))) ==
          std::vector<double>{0, 150, 200, 60});
  }
}

TEST_CASE("maintenance of some nodes leaves the others", "[fleet]")
{
  // Node 0 is away from 100 to 200: who takes longer goes to node 1 at once.
  Workload workload;
  workload.jobs = {job(0, 1, 150, 150), job(0, 1, 80, 80), job(10, 2, 20, 20), job(20, 1, 10, 10)};
  const std::vector<Window> windows{{Seconds(100), Seconds(200), 0, 1}};
  for (const Backfilling backfill : {Backfilling::easy, Backfilling::conservative}) {
    const FleetResult result = simulate(workload, on_nodes(2, 1, {.backfill = backfill}, windows));
    // The third needs both nodes: after the first has ended, and node 0 is back.
    CHECK(starts(result) == std::vector<double>{0, 0, 200, 80});
    CHECK(result.spans.front().slice.node == 0);
    REQUIRE(result.down.size() == 1);
    CHECK(result.down.front().until == Seconds(200));
  }
}

TEST_CASE("what still runs when maintenance begins keeps its work and waits again", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 1, 60), job(0, 1, 50)};
  Policy pods;
  pods.gang = false; // Kubernetes does not look ahead
  FleetSetting setting = on_nodes(1, 1, pods, {{Seconds(100), Seconds(150), 0, 1}});
  setting.restart = Seconds(5);
  const FleetResult result = simulate(workload, setting);
  CHECK_THAT(result.jobs[1].start.value(), test::is(60));
  CHECK_THAT(result.jobs[1].end.value(), test::is(150 + 5 + 10)); // 40 of 50 were done
  CHECK(result.jobs[1].preemptions == 1);
  CHECK_THAT(result.gpu_time.productive, test::is(110));
  CHECK_THAT(result.gpu_time.lost + 1, test::is(1));
  CHECK_THAT(result.gpu_time.total(), test::is(165));
}

TEST_CASE("windows that touch or overlap keep their nodes until the last one ends", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 1, 10, 10), job(20, 1, 30, 30)};
  for (const Backfilling backfill :
       {Backfilling::none, Backfilling::easy, Backfilling::conservative}) {
    const auto start = [&](std::vector<Window> windows) {
      return simulate(workload, on_nodes(1, 1, {.backfill = backfill}, std::move(windows)))
          .jobs[1]
          .start.value();
    };
    CHECK(start({{Seconds(15), Seconds(60), 0, 1}, {Seconds(40), Seconds(90), 0, 1}}) == 90);
    CHECK(start({{Seconds(15), Seconds(90), 0, 1}, {Seconds(40), Seconds(60), 0, 1}}) == 90);
    CHECK(start({{Seconds(15), Seconds(60), 0, 1}, {Seconds(80), Seconds(90), 0, 1}}) == 90);
    CHECK(start({{Seconds(15), Seconds(60), 0, 1}, {Seconds(91), Seconds(95), 0, 1}}) == 60);
    CHECK(start({{Seconds(50), Seconds(60), 0, 1}}) == 20); // ends just in time
  }
}

TEST_CASE("reservations lie where maintenance ends", "[fleet]")
{
  // Node 0 is away from 10 to 100; the second job needs both nodes, the third would delay it.
  Workload workload;
  workload.jobs = {job(0, 1, 50, 50), job(20, 2, 20, 20), job(60, 1, 60, 60), job(61, 1, 39, 39)};
  for (const Backfilling backfill : {Backfilling::easy, Backfilling::conservative}) {
    const FleetResult result = simulate(
        workload, on_nodes(2, 1, {.backfill = backfill}, {{Seconds(10), Seconds(100), 0, 1}}));
    CHECK(starts(result) == std::vector<double>{0, 100, 120, 61});
    // Behind the fourth, which took the free node, conservative plans wait for the other one.
    CHECK(result.jobs[2].waited_for ==
          (backfill == Backfilling::easy ? Cause::guard : Cause::maintenance));
  }
  // A shorter window within it changes nothing: nobody plans for its end.
  workload.jobs = {job(30, 2, 20, 20), job(31, 1, 50, 50)};
  const FleetResult twice = simulate(
      workload, on_nodes(2, 1, {.backfill = Backfilling::conservative},
                         {{Seconds(10), Seconds(100), 0, 1}, {Seconds(20), Seconds(50), 0, 1}}));
  CHECK(starts(twice) == std::vector<double>{100, 31});
}

TEST_CASE("failures, spares and maintenance go together: GPU time adds up", "[fleet]")
{
  sim::RandomStream stream(5, "maintenance");
  Workload workload;
  double now = 0;
  for (int i = 0; i < 200; ++i) {
    const double work = test::exponential(stream, 2000);
    workload.jobs.push_back(job(now += test::exponential(stream, 400),
                                1 << static_cast<int>(stream.uniform() * 4), work, work * 1.5));
  }
  std::vector<Window> windows;
  for (int i = 0; i < 12; ++i)
    windows.push_back({Seconds(5000 + 9000.0 * i), Seconds(8000 + 9000.0 * i), i % 4, 1 + i % 3});
  for (const Backfilling backfill :
       {Backfilling::none, Backfilling::easy, Backfilling::conservative}) {
    FleetSetting setting = on_nodes(7, 2, {.backfill = backfill}, windows);
    setting.spares = 1;
    setting.restart = Seconds(20);
    setting.outages = draw_outages(
        {{Seconds(40000), FailureLaw::exponential, 1, {Seconds(2000), Seconds(4000)}, 1}},
        setting.shape, 3);
    const FleetResult result = simulate(workload, setting);
    CHECK(std::all_of(result.jobs.begin(), result.jobs.end(), [](const JobOutcome& outcome) {
      return outcome.state == JobState::completed || outcome.state == JobState::timeout ||
             outcome.state == JobState::rejected;
    }));
    CHECK_THAT(result.gpu_time.total(), test::is(12 * (result.end - result.start).value()));
    for (const HeldSpan& span : result.spans)
      for (const Window& window : windows)
        if (window.holds(span.slice.node) && span.from < window.until && window.from < span.until)
          FAIL("job " << span.job << " is on node " << span.slice.node << " in maintenance");
  }
}

TEST_CASE("reserved nodes are for those whom they are reserved for", "[fleet]")
{
  // Two GPUs on two nodes; the second node is the second account's from 100 to 200.
  Workload workload;
  workload.accounts = {"other", "owner"};
  workload.jobs = {job(0, 1, 90, 90), job(0, 1, 95, 95), job(1, 1, 60, 60), job(96, 1, 50, 50)};
  workload.jobs[3].account = 1;
  const std::vector<Window> windows{{Seconds(100), Seconds(200), 1, 1, {1}, {}}};
  for (const Backfilling backfill :
       {Backfilling::none, Backfilling::easy, Backfilling::conservative}) {
    CAPTURE(static_cast<int>(backfill));
    FleetSetting setting = on_nodes(2, 1, {.backfill = backfill}, windows);
    CHECK(starts(simulate(workload, setting)) == std::vector<double>{0, 0, 90, 96});
    Workload more = workload; // nothing is free for the last one of the other account before 150
    more.jobs.push_back(job(97, 1, 5, 5));
    CHECK(starts(simulate(more, setting))[4] == 150);
    CHECK(simulate(more, setting).gpu_time.repair == 0);
    // Of a queue as of an account.
    setting.windows[0].accounts.clear();
    setting.windows[0].queues = {0};
    CHECK(starts(simulate(workload, setting)) == std::vector<double>{0, 0, 90, 95 + 1});
  }
}

TEST_CASE("who may not have reserved nodes waits for their end, and says why", "[fleet]")
{
  Workload workload;
  workload.accounts = {"other", "owner"};
  workload.jobs = {job(0, 1, 50, 50)};
  const std::vector<Window> windows{{Seconds(20), Seconds(70), 0, 1, {1}, {}}};
  for (const Backfilling backfill :
       {Backfilling::none, Backfilling::easy, Backfilling::conservative}) {
    const FleetSetting setting = on_nodes(1, 1, {.backfill = backfill}, windows);
    const FleetResult result = simulate(workload, setting);
    CHECK(result.jobs[0].start == Seconds(70));
    CHECK(result.jobs[0].waited_for == Cause::reservation);
    // One that runs when it begins is left.
    Workload started = workload;
    started.jobs = {job(0, 1, 60, 20)};
    started.jobs[0].limit = kNever;
    CHECK(simulate(started, setting).jobs[0].start == Seconds(70));
    started.jobs = {job(0, 1, 20, 20)};
    CHECK(simulate(started, setting).jobs[0].end == Seconds(20));
  }
}

TEST_CASE("who may use a reservation starts in it, whoever alike may not", "[fleet]")
{
  // Two nodes of two GPUs; node 1 is kept for account 1 from 100 to 200. The first job holds node 0
  // until 500, the second waits for both nodes. Of two that are alike the last is of account 1.
  Workload workload;
  workload.accounts = {"a", "b"};
  workload.jobs = {job(0, 2, 500, 500), job(0, 4, 50, 50), job(110, 2, 30, 30),
                   job(110, 2, 30, 30)};
  workload.jobs[3].account = 1;
  const std::vector<Window> windows{{Seconds(100), Seconds(200), 1, 1, {1}}};
  for (const Backfilling backfill : {Backfilling::easy, Backfilling::conservative})
    CHECK(starts(simulate(workload, on_nodes(2, 2, {.backfill = backfill}, windows))) ==
          std::vector<double>{0, 500, 200, 110});
}

TEST_CASE("a reservation of backfilling outlives maintenance that was planned", "[fleet]")
{
  // Node 1 is out of service from 100 to 150, known from the beginning: as though a reservation of
  // nobody held it.
  Workload workload;
  workload.jobs = {job(0, 4, 60, 60), job(10, 4, 70, 70), job(20, 8, 70, 70), job(30, 4, 40, 40),
                   job(40, 4, 50, 50)};
  const Policy policy{.backfill = Backfilling::conservative};
  const Window out{Seconds(100), Seconds(150), 1, 1};
  Window kept = out;
  kept.accounts = {7};
  const FleetResult maintained = simulate(workload, on_nodes(2, 4, policy, {out}));
  CHECK(starts(maintained) == starts(simulate(workload, on_nodes(2, 4, policy, {kept}))));
}

TEST_CASE("who comes first jobs give way to, but those whose GPUs it cannot take", "[fleet]")
{
  // Node 1 goes out of service at 300, when its job ends. The urgent one would end at 340.
  Workload workload;
  workload.jobs = {job(0, 4, 1000, 1000), job(1, 4, 299, 299), job(100, 4, 240, 240)};
  workload.jobs[1].priority = 1;
  workload.jobs[2].priority = 9;
  const Policy policy{.order = Order::priority, .preemption = Preemption::priority};
  const FleetResult result =
      simulate(workload, on_nodes(2, 4, policy, {{Seconds(300), Seconds(400), 1, 1}}));
  CHECK(result.jobs[0].preemptions == 1);
  CHECK(result.jobs[1].preemptions == 0);
  CHECK(result.jobs[1].end == Seconds(300));
  CHECK(result.jobs[2].start == Seconds(100));
}

TEST_CASE("of many windows those about a time are found", "[fleet]")
{
  const Windows windows({{Seconds(0), Seconds(100), 0, 1},
                         {Seconds(10), Seconds(20), 1, 1},
                         {Seconds(50), Seconds(60), 2, 1},
                         {Seconds(200), Seconds(210), 3, 1}});
  const auto first_nodes = [&](double from, double until) {
    std::vector<int> nodes;
    for (const Window& window : windows.about(Seconds(from), Seconds(until)))
      nodes.push_back(window.first);
    return nodes;
  };
  CHECK(first_nodes(30, 50) == std::vector<int>{0, 1}); // the second is among those before
  CHECK(first_nodes(100, 200).empty());
  CHECK(first_nodes(99, 201) == std::vector<int>{0, 1, 2, 3});
  CHECK(first_nodes(200, 201) == std::vector<int>{3});
  CHECK(first_nodes(300, 400).empty());
}

} // namespace foretrain::maintenance_test
