// What the library hands out holds every field of the answer that it comes from, in its own place:
// each has a value that no other has.
#include "experiments/api/public_answers.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::public_answers_test {

namespace of = foretrain::experiments;
using namespace foretrain::api;

namespace {

of::Range range(double median)
{
  return {median, 0.9 * median, 1.2 * median, 0.5};
}

bool same(const Interval& it, double median)
{
  return it.median == median && it.low == 0.9 * median && it.high == 1.2 * median &&
         it.probability == 0.5;
}
bool same(const std::optional<Interval>& it, double median)
{
  return it && same(*it, median);
}

of::JobResult job_result()
{
  of::JobResult job;
  job.name = "a job";
  job.gpus = 16;
  job.nodes = 2;
  job.throughput = range(101);
  job.step_time = range(103);
  job.speedup = 107;
  job.speedup_range = range(109);
  job.slowdown = 113;
  job.slowdown_range = range(127);
  double seconds = 131;
  for (const of::StepPart& part : of::kStepParts)
    job.time.*part.time = Seconds(seconds++);
  job.bottleneck.resource = "node0/nic";
  job.memory.needed = Bytes(151);
  job.memory.available = Bytes(149);
  job.days = range(157);
  job.cost = range(163);
  return job;
}

void check(const Job& job)
{
  CHECK(job.name == "a job");
  CHECK(job.gpus == 16);
  CHECK(job.nodes == 2);
  CHECK(same(job.throughput, 101));
  CHECK(same(job.step_time, 103));
  CHECK(job.speedup == 107);
  CHECK(same(job.speedup_range, 109));
  CHECK(job.slowdown == 113);
  CHECK(same(job.slowdown_range, 127));
  double seconds = 131;
  for (const of::StepPart& part : of::kStepParts) {
    if (!part.planned)
      CHECK(job.time.at(part.key) == seconds);
    CHECK(job.time.contains(part.key) == !part.planned); // of a job without a plan
    ++seconds;
  }
  CHECK(job.limited_by == "node0/nic");
  CHECK_FALSE(job.fits);
  CHECK(job.memory_needed == 151);
  CHECK(job.memory_available == 149);
  CHECK(same(job.days, 157));
  CHECK(same(job.cost, 163));
}

} // namespace

TEST_CASE("predictions: points with settings, jobs and errors", "[library]")
{
  of::Prediction prediction;
  prediction.status = 3;
  prediction.result.points.resize(2);
  prediction.result.points[0].settings = {{"/jobs/0/gpus", 16}, {"/stack/network", "tcp"}};
  prediction.result.points[0].jobs = {job_result()};
  prediction.result.points[1].error = "does not fit";
  const Answer made = public_answer(prediction);
  CHECK(made.status == 3);
  REQUIRE(made.points.size() == 2);
  CHECK(made.points[0].settings == Settings{{"/jobs/0/gpus", "16"}, {"/stack/network", "\"tcp\""}});
  CHECK(made.points[0].error.empty());
  REQUIRE(made.points[0].jobs.size() == 1);
  check(made.points[0].jobs[0]);
  CHECK(made.points[1].error == "does not fit");
  CHECK(Json::parse(made.json).at("points").size() == 2);
}

TEST_CASE("plans: candidates in their order, with choice and frontier", "[library]")
{
  of::PlanAnswer plan;
  plan.candidates.resize(2);
  of::JudgedCandidate& today = plan.candidates[0];
  today.options = {{"network", "tcp"}, {"nodes", 4}};
  today.nodes = 4;
  today.gpus = 32;
  today.cost = 2.5;
  today.probability = 0.75;
  today.fits = false;
  today.jobs = {job_result()};
  plan.candidates[1].error = "no such GPU";
  plan.recommended = 1;
  plan.fastest = 0;
  plan.frontier = {1, 0};
  const PlanAnswer made = public_answer(plan);
  REQUIRE(made.candidates.size() == 2);
  const PlanCandidate& it = made.candidates[0];
  CHECK(it.options == std::map<std::string, std::string>{{"network", "tcp"}, {"nodes", "4"}});
  CHECK(it.nodes == 4);
  CHECK(it.gpus == 32);
  CHECK(it.cost == 2.5);
  CHECK(it.probability == 0.75);
  CHECK_FALSE(it.fits);
  REQUIRE(it.jobs.size() == 1);
  check(it.jobs[0]);
  CHECK(it.error.empty());
  CHECK(made.candidates[1].error == "no such GPU");
  CHECK(made.candidates[1].fits);
  CHECK(made.recommended == 1U);
  CHECK(made.fastest == 0U);
  CHECK(made.frontier == std::vector<std::size_t>{1, 0});
}

TEST_CASE("tuned plans and comparisons hand on what they found", "[library]")
{
  of::TuneAnswer tuned;
  tuned.tried = 7;
  tuned.best.resize(1);
  of::TunedPlan& best = tuned.best[0];
  best.plan.tensor = 4;
  best.micro_batch = 2;
  best.recompute = "full";
  best.tokens_per_s = range(101);
  best.mfu = 0.5;
  best.memory = Bytes(103);
  best.days = range(107);
  best.cost = range(109);
  const Tuned made = public_answer(tuned);
  CHECK(made.simulated == 7);
  REQUIRE(made.plans.size() == 1);
  CHECK(made.plans[0].parallel.at("tensor") == "4");
  CHECK(made.plans[0].micro_batch == 2);
  CHECK(made.plans[0].recompute == "full");
  CHECK(same(made.plans[0].tokens_per_s, 101));
  CHECK(made.plans[0].mfu == 0.5);
  CHECK(made.plans[0].memory_needed == 103);
  CHECK(same(made.plans[0].days, 107));
  CHECK(same(made.plans[0].cost, 109));

  of::CompareAnswer compared;
  compared.warnings = {"of other versions"};
  compared.pairs.resize(1);
  of::JobComparison& pair = compared.pairs[0];
  pair.settings = {{"/jobs/0/gpus", 8}};
  pair.job = "train";
  pair.ratio = range(1.5);
  pair.probability_b_faster = 0.25;
  pair.causes.resize(1);
  pair.causes[0].part = "compute";
  pair.causes[0].difference = Seconds(-3);
  const Comparison told = public_answer(compared);
  CHECK(told.warnings == std::vector<std::string>{"of other versions"});
  REQUIRE(told.jobs.size() == 1);
  CHECK(told.jobs[0].settings == Settings{{"/jobs/0/gpus", "8"}});
  CHECK(told.jobs[0].name == "train");
  CHECK(same(told.jobs[0].ratio, 1.5));
  CHECK(told.jobs[0].probability_b_faster == 0.25);
  REQUIRE(told.jobs[0].causes.size() == 1);
  CHECK(told.jobs[0].causes[0].first == "compute");
  CHECK(told.jobs[0].causes[0].second == -3);
}

TEST_CASE("checks: the worst of the cases is the status", "[library]")
{
  using State = of::CheckState;
  const auto status = [](const std::vector<State>& states) {
    of::CheckedFile checked;
    for (const State state : states)
      checked.cases.push_back({"case", state, "why", {}});
    const Check made = public_answer(checked);
    CHECK(made.cases.size() == states.size());
    return made.status;
  };
  CHECK(status({}) == 0);
  CHECK(status({State::passed}) == 0);
  CHECK(status({State::failed, State::passed}) == 1);
  CHECK(status({State::error, State::failed}) == 2);
  CHECK(status({State::failed, State::error, State::passed}) == 2);
  of::CheckedFile checked;
  checked.cases.push_back({"a", State::failed, "why", {}});
  const Check made = public_answer(checked);
  CHECK(made.cases[0].name == "a");
  CHECK(made.cases[0].state == of::state_name(State::failed));
  CHECK(made.cases[0].message == "why");
}

TEST_CASE("fleets: quantities of each point", "[library]")
{
  of::FleetAnswer fleet;
  fleet.policy = "easy";
  fleet.gpus = 64;
  fleet.jobs.submitted = 9;
  fleet.jobs.completed = 8;
  fleet.makespan_s = range(101);
  fleet.wait_s = of::FleetSpread{range(103), range(107), range(109), range(113)};
  fleet.completion_s = of::FleetSpread{range(127), range(131), range(137), range(139)};
  fleet.utilisation = range(0.5);
  fleet.goodput = range(0.25);
  double hours = 149;
  for (const of::FleetHoursPart& part : of::fleet_hours_parts())
    fleet.gpu_hours.*part.part = range(hours++);
  fleet.cost = range(163);
  fleet.currency = "EUR";
  of::FleetSweepAnswer sweep;
  sweep.points.push_back({{{"/policy", "easy"}}, fleet});
  const FleetAnswer all = public_answer(sweep);
  REQUIRE(all.points.size() == 1);
  const FleetPoint& made = all.points[0];
  CHECK(made.settings == Settings{{"/policy", "\"easy\""}});
  CHECK(made.policy == "easy");
  CHECK(made.gpus == 64);
  CHECK(made.submitted == 9);
  CHECK(made.completed == 8);
  CHECK(same(made.makespan, 101));
  CHECK(same(made.wait_mean, 103));
  CHECK(same(made.wait_p90, 109));
  CHECK(same(made.completion_mean, 127));
  CHECK(same(made.utilisation, 0.5));
  CHECK(same(made.goodput, 0.25));
  CHECK(made.gpu_hours.size() == of::fleet_hours_parts().size());
  CHECK(same(made.gpu_hours.at("productive"), fleet.gpu_hours.productive.median));
  CHECK(same(made.gpu_hours.at("lost"), fleet.gpu_hours.lost.median));
  CHECK(same(made.cost, 163));
  CHECK(made.currency == "EUR");
  fleet.wait_s.reset(); // no job ran
  CHECK_FALSE(public_answer(fleet).points[0].wait_p90);
  CHECK_FALSE(public_answer(fleet).points[0].completion_mean);
}

} // namespace foretrain::public_answers_test
