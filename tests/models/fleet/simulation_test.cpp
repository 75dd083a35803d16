#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::simulation_test {

using namespace foretrain::models::fleet;
using test::job;

namespace {

Workload random_workload(int jobs, std::uint64_t seed)
{
  sim::RandomStream stream(seed, "random workload");
  Workload workload;
  workload.accounts = {"a", "b"};
  workload.queues = {"one", "two"};
  double now = 100;
  for (int i = 0; i < jobs; ++i) {
    const double work = test::exponential(stream, 1000);
    Job made =
        job(now += test::exponential(stream, 300), 1 << static_cast<int>(stream.uniform() * 5),
            work, work * (0.9 + stream.uniform() * 3));
    made.account = stream.uniform() < 0.3 ? 0 : 1;
    made.queue = stream.uniform() < 0.5 ? 0 : 1;
    made.priority = static_cast<double>(static_cast<int>(stream.uniform() * 3));
    workload.jobs.push_back(made);
  }
  return workload;
}

FleetSetting nodes_of_four(int nodes, const Policy& policy)
{
  FleetSetting setting;
  setting.shape = {nodes, 4, 0};
  setting.policy = policy;
  setting.quotas = {{}, {}};
  setting.history = true;
  return setting;
}

// No GPU has two jobs at a time, or one that it is down for.
void check_spans(const FleetResult& result)
{
  for (std::size_t i = 0; i < result.spans.size(); ++i)
    for (std::size_t k = i + 1; k < result.spans.size(); ++k) {
      const HeldSpan &a = result.spans[i], &b = result.spans[k];
      const bool same_gpu = a.slice.node == b.slice.node && (a.slice.gpus & b.slice.gpus) != 0;
      if (same_gpu && a.from < b.until && b.from < a.until)
        FAIL("jobs " << a.job << " and " << b.job << " hold one GPU");
    }
}

} // namespace

TEST_CASE("whoever is stopped for others makes room for somebody who starts then", "[fleet]")
{
  const auto order = GENERATE(Order::priority, Order::srtf);
  const auto backfill = GENERATE(Backfilling::none, Backfilling::easy, Backfilling::conservative);
  int stopped = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(word_of(order), word_of(backfill), seed);
    const FleetResult result = simulate(
        random_workload(150, seed),
        nodes_of_four(6,
                      {.order = order, .backfill = backfill, .preemption = Preemption::priority}));
    for (const HeldSpan& span : result.spans) {
      if (span.until == result.jobs[span.job].end)
        continue;
      ++stopped;
      CHECK(std::ranges::any_of(result.spans, [&](const HeldSpan& other) {
        return other.from == span.until && other.job != span.job; // which may move elsewhere
      }));
    }
  }
  CHECK(stopped > 100);
}

TEST_CASE("GPU time adds up to the cluster's, under every policy", "[fleet]")
{
  const auto order = GENERATE(Order::fifo, Order::sjf, Order::srtf, Order::las, Order::priority,
                              Order::fair_share);
  const auto backfill = GENERATE(Backfilling::none, Backfilling::easy, Backfilling::conservative);
  const auto preemption = GENERATE(Preemption::none, Preemption::priority, Preemption::quantum);
  const auto placement = GENERATE(Placement::first_fit, Placement::consolidate);
  const bool fails = GENERATE(false, true);
  const Policy policy{.order = order,
                      .backfill = backfill,
                      .preemption = preemption,
                      .depth = placement == Placement::first_fit ? 1000 : 10,
                      .placement = placement};
  const Workload workload = random_workload(150, 3);
  FleetSetting setting = nodes_of_four(6, policy);
  setting.restart = Seconds(20);
  if (fails) {
    setting.shape.nodes = 7;
    setting.spares = 1;
    setting.outages =
        draw_outages({{Seconds(20000), FailureLaw::weibull, 0.7, {Seconds(1000), Seconds(3000)}}},
                     setting.shape, 5);
    setting.detect = Seconds(30);
    setting.checkpointing = {{Seconds(200), Seconds(5)}};
  }
  const FleetResult result = simulate(workload, setting);
  CAPTURE(word_of(order), word_of(backfill), word_of(preemption), word_of(placement), fails);
  CHECK(result.stuck == 0);
  double work = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobOutcome& outcome = result.jobs[i];
    REQUIRE((outcome.state == JobState::completed || outcome.state == JobState::timeout));
    CHECK(outcome.start >= workload.jobs[i].submit);
    CHECK(outcome.run <= (outcome.restarts + outcome.preemptions + 1) * workload.jobs[i].limit +
                             Seconds(1e-6 + 30. * outcome.restarts));
    if (outcome.state == JobState::completed)
      work += workload.jobs[i].work.value() * workload.jobs[i].gpus;
  }
  CHECK(result.gpu_time.productive >= work * (1 - 1e-9));
  CHECK_THAT(result.gpu_time.total(), test::is(24 * (result.end - result.start).value()));
  check_spans(result);
}

TEST_CASE("whatever fails, GPU time adds up, every job ends, and nobody shares a GPU",
          "[fleet][property][many]")
{
  const auto backfill = GENERATE(Backfilling::none, Backfilling::easy, Backfilling::conservative);
  const auto preemption = GENERATE(Preemption::none, Preemption::priority, Preemption::quantum);
  const bool keep_place = GENERATE(false, true);
  const double spare_start = GENERATE(0.0, 700.0);
  const auto seed = static_cast<std::uint64_t>(GENERATE(1, 2, 3));
  CAPTURE(word_of(backfill), word_of(preemption), keep_place, spare_start, seed);
  const Workload workload = random_workload(150, seed);
  FleetSetting setting = nodes_of_four(8, {.backfill = backfill, .preemption = preemption});
  setting.spares = 2;
  setting.spare_start = Seconds(spare_start);
  setting.keep_place = keep_place;
  setting.restart = Seconds(20);
  setting.detect = Seconds(30);
  setting.checkpointing = {{Seconds(200), Seconds(5)}};
  setting.quotas = {{20, true}, {16, true}};
  FailureClass nodes{Seconds(30000), FailureLaw::exponential, 1, {Seconds(900), Seconds(2000)}};
  FailureClass gpus = nodes;
  gpus.hits = Hits::gpu;
  FailureClass storage = nodes;
  storage.hits = Hits::storage;
  storage.repair = {Seconds(50), Seconds(80)};
  setting.outages = draw_outages({nodes, gpus, storage}, setting.shape, seed);
  for (int i = 0; i < 40; ++i) {
    const Seconds from(2000 + 9000.0 * i);
    setting.windows.push_back({from, from + Seconds(1500), i % 4, 2});
    setting.windows.push_back({from + Seconds(4000), from + Seconds(6000), 0, 3, {1}, {}});
  }
  const FleetResult result = simulate(workload, setting);
  CHECK(result.stuck == 0);
  CHECK(result.failures > 0);
  for (const JobOutcome& outcome : result.jobs)
    REQUIRE((outcome.state == JobState::completed || outcome.state == JobState::timeout));
  CHECK_THAT(result.gpu_time.total(), test::is(24 * (result.end - result.start).value()));
  if (!keep_place)
    CHECK(result.gpu_time.held == 0);
  for (const double part : {result.gpu_time.restart, result.gpu_time.repair, result.gpu_time.lost})
    CHECK(part >= 0);
  check_spans(result);
}

TEST_CASE("without limits every job ends with its work done", "[fleet]")
{
  Workload workload = random_workload(150, 4);
  double work = 0;
  for (Job& one : workload.jobs) {
    one.limit = kNever;
    work += one.work.value() * one.gpus;
  }
  const auto preemption = GENERATE(Preemption::none, Preemption::priority, Preemption::quantum);
  FleetSetting setting = nodes_of_four(6, {.order = Order::srtf, .preemption = preemption});
  setting.restart = Seconds(20);
  const FleetResult result = simulate(workload, setting);
  CHECK_THAT(result.gpu_time.productive, test::is(work));
  int preemptions = 0;
  for (const JobOutcome& outcome : result.jobs)
    preemptions += outcome.preemptions;
  CHECK((preemptions > 0) == (preemption != Preemption::none));
}

TEST_CASE("a limit kills, and a job that never fits is rejected", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 2, 100, 30), job(0, 9, 1), job(0, 1, 10)};
  const FleetResult result = simulate(workload, test::one_gpu_nodes(8));
  CHECK(result.jobs[0].state == JobState::timeout);
  CHECK(result.jobs[0].end == Seconds(30));
  CHECK(result.jobs[1].state == JobState::rejected);
  CHECK(result.jobs[2].state == JobState::completed);
  CHECK(result.jobs[2].start == Seconds(0));
}

TEST_CASE("the shortest remaining job takes the GPUs of a longer one", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 1, 100), job(10, 1, 20)};
  FleetSetting setting =
      test::one_gpu_nodes(1, {.order = Order::srtf, .preemption = Preemption::priority});
  setting.restart = Seconds(3);
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[1].end == Seconds(30));
  CHECK(result.jobs[0].end == Seconds(123)); // 10 done, 20 waited, 3 to start again
  CHECK(result.jobs[0].preemptions == 1);
  CHECK_THAT(result.gpu_time.restart, test::is(3));
}

TEST_CASE("least attained service shares the time of one GPU by quanta", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 1, 100), job(0, 1, 20)};
  Policy policy{.order = Order::las, .preemption = Preemption::quantum, .quantum = Seconds(10)};
  const FleetResult result = simulate(workload, test::one_gpu_nodes(1, policy));
  CHECK(result.jobs[1].end <= Seconds(50)); // after 100 without it
  CHECK(result.jobs[0].end == Seconds(120));
}

TEST_CASE("fair share lets the account go first that used less", "[fleet]")
{
  Workload workload;
  workload.accounts = {"heavy", "light"};
  workload.jobs = {job(0, 1, 50), job(1, 1, 10), job(2, 1, 10)};
  workload.jobs[2].account = 1;
  const FleetResult result =
      simulate(workload, test::one_gpu_nodes(1, {.order = Order::fair_share}));
  CHECK(result.jobs[2].start == Seconds(50));
  CHECK(result.jobs[1].start == Seconds(60));
}

TEST_CASE("a queue borrows what others leave, if it may", "[fleet]")
{
  Workload workload;
  workload.queues = {"one", "two"};
  workload.jobs = {job(0, 2, 10), job(0, 1, 10)};
  FleetSetting setting = test::one_gpu_nodes(4);
  setting.quotas = {{2, false}, {2, false}};
  CHECK(simulate(workload, setting).jobs[1].start == Seconds(10));
  CHECK(simulate(workload, setting).jobs[1].waited_for == Cause::quota);
  setting.quotas = {{2, true}, {2, false}};
  CHECK(simulate(workload, setting).jobs[1].start == Seconds(0));
  // Not what the other uses, though GPUs are free that are nobody's.
  workload.jobs = {job(0, 2, 10), job(0, 2, 20), job(0, 1, 10)};
  workload.jobs[1].queue = 1;
  setting = test::one_gpu_nodes(8);
  setting.quotas = {{2, true}, {2, false}};
  CHECK(simulate(workload, setting).jobs[1].start == Seconds(0));
  CHECK(simulate(workload, setting).jobs[2].start == Seconds(10));
}

TEST_CASE("two that share a node slow each other down while both run", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 2, 100), job(50, 2, 100)};
  FleetSetting setting;
  setting.shape = {1, 4, 0};
  setting.quotas = {{}};
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    return jobs.size() == 1 ? std::vector<JobRate>(1) : std::vector<JobRate>{{0.5, 1}, {0.25, 1}};
  };
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(150)); // 50 alone, 100 at half rate
  CHECK(result.jobs[1].end == Seconds(225)); // 100 at a quarter, 75 alone
  CHECK_THAT(result.gpu_time.contended, test::is(2 * (50 + 75)));
}

TEST_CASE("where speeds are simulated a stop is heard at once", "[fleet]")
{
  Workload workload;
  workload.jobs = {job(0, 2, 100), job(50, 2, 100)};
  FleetSetting setting;
  setting.shape = {1, 4, 0};
  setting.quotas = {{}};
  setting.go_on = [](std::size_t) { return false; };
  CHECK_FALSE(simulate(workload, setting).stopped); // two jobs are done sooner than asked about
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    return std::vector<JobRate>(jobs.size());
  };
  CHECK(simulate(workload, setting).stopped);
}

namespace {

// Half of the speed while data are read for the first time, and half of it beside others.
FleetSetting with_first_passes(int nodes)
{
  FleetSetting setting;
  setting.shape = {nodes, 4, 0};
  setting.quotas = {{}};
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    std::vector<JobRate> rates;
    for (const Placed& job : jobs)
      rates.push_back({(job.first_pass ? 0.5 : 1) * (jobs.size() == 1 ? 1 : 0.5), 1});
    return rates;
  };
  return setting;
}

Job reader(double submit, int gpus, double work, double pass)
{
  Job made = job(submit, gpus, work);
  made.first_pass = {Seconds(pass), 0.5};
  return made;
}

} // namespace

TEST_CASE("the first pass over a job's data goes at its own rate, again on other nodes", "[fleet]")
{
  Workload workload;
  workload.jobs = {reader(0, 4, 100, 40), reader(0, 4, 30, 40)};
  CHECK(workload.jobs[0].alone() == Seconds(40 / 0.5 + 60));
  CHECK(workload.jobs[1].alone() == Seconds(30 / 0.5)); // shorter than a pass
  FleetSetting setting = with_first_passes(2);
  FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(140));
  CHECK(result.jobs[1].end == Seconds(60));
  CHECK(result.gpu_time.productive == 4 * (140 + 60));
  CHECK(result.gpu_time.contended == 0);

  // A write after each 50 s: at 50 with 25 done, at 110 with 60 done, of which 80 s at half rate.
  workload.jobs.resize(1);
  setting.checkpointing = {{Seconds(50), Seconds(10)}};
  CHECK(simulate(workload, setting).jobs[0].end == Seconds(160));

  // At 120 its node fails: 60 of work are saved; its data are read again, with a write after 50 s.
  const std::vector<Outage> outages{{Seconds(120), 0, 1, Seconds(1000)}};
  setting.outages = outages_of(outages);
  result = simulate(workload, setting);
  CHECK(result.jobs[0].lost == 0);
  CHECK(result.jobs[0].end == Seconds(120 + 40 / 0.5 + 10));
}

TEST_CASE("jobs meet on what no node has to itself where it is too little for them", "[fleet]")
{
  Workload workload;
  workload.jobs = {reader(0, 4, 100, 10), reader(0, 4, 100, 40), reader(0, 4, 100, 0)};
  FleetSetting setting = with_first_passes(3);
  double share = 0.6;
  setting.speeds.shared = [&](const Placed& job) {
    return job.first_pass ? std::vector<SharedUse>{{7, share}} : std::vector<SharedUse>{};
  };
  FleetResult result = simulate(workload, setting);
  // Both read at a quarter of the speed until the first has read 10, at 40.
  CHECK(result.jobs[0].end == Seconds(40 + 90));
  CHECK(result.jobs[1].end == Seconds(40 + 30 / 0.5 + 60));
  CHECK(result.jobs[2].end == Seconds(100));
  CHECK_THAT(result.gpu_time.contended, test::is(4 * 2 * 20));
  share = 0.45; // enough for both
  result = simulate(workload, setting);
  CHECK(result.jobs[0].end == Seconds(20 + 90));
  CHECK(result.gpu_time.contended == 0);
}

TEST_CASE("a write that nobody feels takes what it takes in closed form", "[fleet]")
{
  const Workload workload = random_workload(150, 11);
  const bool asynchronous = GENERATE(false, true);
  FleetSetting setting = nodes_of_four(6, {});
  setting.checkpointing = {{Seconds(200), Seconds(30), asynchronous}};
  const FleetResult expected = simulate(workload, setting);
  setting.checkpointing[0].felt = true;
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    return std::vector<JobRate>(jobs.size());
  };
  const FleetResult found = simulate(workload, setting);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    CHECK_THAT(found.jobs[i].end.value(), test::is(expected.jobs[i].end.value()));
  CHECK_THAT(found.gpu_time.checkpoint + 1, test::is(expected.gpu_time.checkpoint + 1));
}

TEST_CASE("groups of jobs that meet", "[fleet]")
{
  const std::vector<Allocation> held{{{0, 1}}, {{0, 2}, {1, 1}}, {{2, 1}}, {{1, 2}}, {{3, 15}}};
  std::vector<Placed> jobs;
  for (std::size_t i = 0; i < held.size(); ++i)
    jobs.push_back({static_cast<JobId>(i), &held[i]});
  using Meetings = std::vector<Meeting>;
  CHECK(meetings(jobs, {}, 4) == Meetings{{{0, 1, 3}}, {{2}}, {{4}}});
  std::vector<std::vector<SharedUse>> uses(5);
  uses[2] = {{1, 0.5}, {2, 0.9}};
  uses[4] = {{1, 0.4}};
  uses[3] = {{2, 0.09}};
  CHECK(meetings(jobs, uses, 4) == Meetings{{{0, 1, 2, 3}, true}, {{4}}});
}

} // namespace foretrain::simulation_test
