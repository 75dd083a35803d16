// The library's structs hold what the commands' answers say.
#include "experiments/api/foretrain.hpp"

#include "sim/base/json.hpp"
#include "tests/support/catch.hpp"

#include <numeric>

namespace foretrain::library_test {

using namespace foretrain::api;
using Catch::Matchers::Contains;

namespace {

Experiment vgg(const std::string& more = "")
{
  return Experiment::from_text(R"({
    "name": "vgg",
    "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
    "stack": {"network": "tcp"},
    "jobs": [{"name": "train", "model": "vgg16", "framework": "pytorch-ddp", "batch_per_gpu": 32,
              "gpus": 8}])" + more +
                               "}");
}

void check_interval(const Interval& it, const Json& range)
{
  CHECK(it.median == range.at("median").get<double>());
  CHECK(it.low == range.at("low").get<double>());
  CHECK(it.high == range.at("high").get<double>());
  CHECK(it.probability == range.at("interval").get<double>());
}

} // namespace

TEST_CASE("a prediction's jobs have the JSON's numbers", "[library]")
{
  const Answer answer = vgg(R"(, "sweep": {"/jobs/0/gpus": [4, 8]})").predict({.interval = 0.5});
  const Json json = Json::parse(answer.json);
  REQUIRE(answer.points.size() == 2);
  CHECK(answer.points[1].settings.at("/jobs/0/gpus") == "8");
  const Json& told = json.at("points").at(1).at("jobs").at(0);
  const Job& job = answer.points[1].jobs.at(0);
  CHECK(job.gpus == 8);
  CHECK(job.nodes == 2);
  CHECK(job.throughput.probability == 0.5);
  check_interval(job.throughput, told.at("throughput_samples_per_s"));
  check_interval(job.step_time, told.at("step_time_s"));
  CHECK(job.limited_by == told.at("bottleneck").at("resource").get<std::string>());
  CHECK(job.memory_needed == told.at("device_memory_byte").at("needed").get<double>());
  CHECK(job.fits);
  double parts = 0;
  for (const auto& [name, seconds] : job.time)
    parts += seconds;
  CHECK(parts == Approx(256 / job.throughput.median).epsilon(1e-9)); // of the mean step
}

TEST_CASE("an explanation names what helps only together", "[library][long]")
{
  const Explanation it =
      Experiment::from_text(
          R"({"name": "tight", "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
        "jobs": [{"model": "vgg16", "framework": "pytorch-ddp", "precision": "fp16", "gpus": 2,
                  "batch_per_gpu": 2, "placement": "spread"}]})")
          .explain();
  REQUIRE_FALSE(it.jobs[0].together.empty());
  const Together& both = it.jobs[0].together.front();
  CHECK(both.levers == std::vector<std::string>{"pcie", "nic"});
  CHECK(both.doubled == it.jobs[0].limited_by->doubled);
  CHECK(both.gain_if_doubled == Approx(it.jobs[0].limited_by->gain_if_doubled));
}

TEST_CASE("an explanation names what would help most", "[library][long]")
{
  const Explanation it = vgg().explain();
  REQUIRE(it.jobs.size() == 1);
  const ExplainedJob& job = it.jobs[0];
  REQUIRE(job.limited_by);
  CHECK_FALSE(job.limited_by->name.empty());
  CHECK(job.limited_by->gain_if_doubled > job.limited_by->gain_if_10_percent_better);
  for (std::size_t i = 1; i < job.levers.size(); ++i)
    CHECK(job.levers[i - 1].gain_if_doubled >= job.levers[i].gain_if_doubled);
  REQUIRE_FALSE(job.swaps.empty());
  CHECK(job.swaps.front().gain >= job.swaps.back().gain);
  CHECK(job.swaps.front().from != job.swaps.front().to);
  const double path =
      std::accumulate(job.time.begin(), job.time.end(), 0.0,
                      [](double sum, const auto& part) { return sum + part.second; });
  const Json told = Json::parse(it.json).at("jobs").at(0);
  CHECK(path == Approx(told.at("step_time_s").get<double>()).epsilon(1e-6));
  CHECK_THROWS_WITH(vgg().explain(1), Contains("points are 0 to 0"));
}

TEST_CASE("two experiments are compared, the second over the first", "[library][long]")
{
  Experiment quick = vgg();
  quick.set("/stack/network", "rdma");
  const Comparison it = vgg().compare(quick);
  REQUIRE(it.jobs.size() == 1);
  const double ratio = quick.predict().points[0].jobs[0].throughput.median /
                       vgg().predict().points[0].jobs[0].throughput.median;
  CHECK(it.jobs[0].ratio.median == Approx(ratio).epsilon(1e-12));
  CHECK(it.jobs[0].ratio.median > 1.2);
  CHECK(it.jobs[0].probability_b_faster > 0.99);
  CHECK(it.jobs[0].causes.front().first == "exposed_communication");
  CHECK(it.jobs[0].causes.front().second < 0);
}

TEST_CASE("expectations are told one by one", "[library]")
{
  const Check it = vgg(R"(, "expect": [{"quantity": "/speedup", "at_least": 0.1},
                                       {"quantity": "/speedup", "at_least": 9}])")
                       .check();
  CHECK(it.status == 1);
  REQUIRE(it.cases.size() >= 2);
  CHECK(it.cases[it.cases.size() - 2].state == "passed");
  CHECK(it.cases.back().state == "failed");
  CHECK_THAT(it.cases.back().message, Contains("9"));
}

TEST_CASE("plans of a transformer are tuned, the best first", "[library][long]")
{
  const Tuned it = Experiment::from_text(R"({
    "cluster": {"platform": "dgx-a100", "nodes": 1, "price_per_gpu_hour": 2},
    "jobs": [{"model": "llama-3.2-1b", "framework": "megatron", "precision": "bf16",
              "sequence": 4096, "global_batch": 64, "gpus": 8, "tokens": "1 G"}]})")
                       .tune(3);
  REQUIRE(it.plans.size() == 3);
  CHECK(it.simulated >= 3);
  CHECK(it.plans[0].tokens_per_s.median >= it.plans[2].tokens_per_s.median);
  CHECK(it.plans[0].parallel.contains("tensor"));
  CHECK(it.plans[0].memory_needed > 1e9);
  CHECK(it.plans[0].mfu > 0.1);
  REQUIRE(it.plans[0].cost);
  CHECK(it.plans[0].cost->median == Approx(it.plans[0].days->median * 24 * 8 * 2).epsilon(1e-9));
}

TEST_CASE("a plan's choice is one of its candidates", "[library][many]")
{
  const PlanAnswer it = Plan::load("c4140-growth").decide();
  REQUIRE(it.recommended);
  const PlanCandidate& chosen = it.candidates.at(*it.recommended);
  CHECK(chosen.error.empty());
  CHECK(chosen.fits);
  CHECK(chosen.probability >= Json::parse(it.json).at("confidence").get<double>());
  CHECK(chosen.jobs.at(0).gpus <= chosen.gpus);
  CHECK(it.candidates.front().nodes <= chosen.nodes);
  for (std::size_t i = 1; i < it.frontier.size(); ++i)
    CHECK(it.candidates[it.frontier[i - 1]].cost <= it.candidates[it.frontier[i]].cost);
  REQUIRE(it.fastest);
  CHECK(it.candidates[*it.fastest].jobs.at(0).throughput.median >=
        chosen.jobs.at(0).throughput.median);
}

TEST_CASE("a fleet is simulated, with a sweep or without", "[library][long]")
{
  Fleet fleet = Fleet::load("two-queues");
  fleet.set("/seeds", "2");
  const FleetAnswer one = fleet.simulate();
  REQUIRE(one.points.size() == 1);
  const FleetPoint& it = one.points[0];
  CHECK(it.submitted >= it.completed);
  CHECK(it.completed > 0);
  REQUIRE((it.wait_p90 && it.wait_mean));
  CHECK(it.wait_p90->median >= it.wait_mean->low);
  CHECK(it.goodput.median <= it.utilisation.median);
  CHECK(it.gpu_hours.at("productive").median > 0);
  check_interval(it.makespan, Json::parse(one.json).at("makespan_s"));
  fleet.set("/sweep", R"({"/cluster/nodes": [32, 64]})");
  const FleetAnswer two = fleet.simulate(2);
  REQUIRE(two.points.size() == 2);
  CHECK(two.points[0].settings.at("/cluster/nodes") == "32");
  CHECK(two.points[0].gpus * 2 == two.points[1].gpus);
}

TEST_CASE("wrong input is an Error with the command's message", "[library]")
{
  Experiment wrong = vgg();
  wrong.set("/jobs/0/gpus", "-1");
  CHECK_THROWS_AS(wrong.explain(), Error);
  CHECK_THROWS_WITH(wrong.predict(), Contains("/jobs/0/gpus"));
  CHECK_THROWS_WITH(wrong.compare(vgg()), Contains("/jobs/0/gpus"));
  CHECK_THROWS_WITH(vgg().tune(), Contains("transformer"));
  CHECK_THROWS_WITH(Plan::load("c4140-grow").decide(), Contains("c4140-growth"));
  CHECK_THROWS_WITH(Fleet::load("two-queue").simulate(), Contains("two-queues"));
}

} // namespace foretrain::library_test
