#include "experiments/fleet/fleet_plan.hpp"

#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::fleet_plan_test {

using namespace foretrain::experiments;

namespace {

LoadedFleetPlan load(const std::string& text, const std::vector<std::string>& set = {})
{
  const test::TextFile file("plan.json", text);
  return load_fleet_plan(load_plan_file(file.path(), set));
}

FleetPlanAnswer answer_of(const LoadedFleetPlan& plan, int seeds = 1)
{
  return judge_fleet_plan(plan, run_fleet_points(plan.points, {1, seeds, false, {}}));
}

// Jobs of an hour come every two on one GPU each: whatever is done they wait for nothing.
std::string easy_life(const std::string& more, const std::string& cluster = "")
{
  return R"({"name": "p", "fleet": {"name": "life", "cluster": {"nodes": 2, "gpus_per_node": 1)" +
         cluster + R"(}, "arrivals": {"process": "even", "per_hour": 0.5, "until": "20 h",
         "mix": [{"gpus": 1, "run_time": "1 h"}]}}, )" +
         more + "}";
}

// Jobs that come and take as they like, on too few GPUs.
std::string crowd(const std::string& more)
{
  return R"({"name": "p", "fleet": {"cluster": {"nodes": 1, "gpus_per_node": 1}, "seeds": 10,
    "arrivals": {"per_hour": 2, "until": "50 h", "mix": [{"gpus": 1, "law": "exponential",
    "run_time": "1 h"}]}}, "changes": [{"name": "nodes", "vary": "/cluster/nodes",
    "values": [1, 2, 3, 4, 6]}], )" +
         more + "}";
}

} // namespace

TEST_CASE("the smallest fleet that reaches the goal is recommended", "[fleet-plan]")
{
  const FleetPlanAnswer answer =
      answer_of(load(easy_life(R"("goals": [{"wait_p90_at_most": "0 s"}], "changes": [
        {"name": "nodes", "vary": "/cluster/nodes", "values": [3, 2, 1]},
        {"name": "policy", "vary": "/policy", "values": ["easy", "fifo"]}])")));
  REQUIRE(answer.candidates.size() == 6);
  CHECK(answer.recommended == 4); // one node, the first of two policies that are alike
  CHECK(answer.recommended_by == "nodes");
  CHECK(answer.candidates[4].options ==
        std::vector<std::pair<std::string, std::string>>{{"nodes", "1"}, {"policy", "easy"}});
  CHECK_FALSE(answer.candidates[4].cost);
  CHECK(answer.candidates[4].probability == 1);
  CHECK(answer.candidates[4].never_run == 0);
  CHECK_THAT(fleet_plan_table(answer), Catch::Contains("needs 1 node with spares, the fewest of"));
}

TEST_CASE("costs of a plan over a fleet are in its currency", "[fleet-plan]")
{
  const std::string changes = R"(, "goals": [{"wait_p90_at_most": "1 h"}], "changes": [
    {"name": "nodes", "vary": "/cluster/nodes", "values": [1, 2]}])";
  CHECK(answer_of(load(easy_life(R"("currency": "EUR")" + changes))).currency == "EUR");
}

TEST_CASE("goals: waits, goodput, an end", "[fleet-plan]")
{
  const auto reached = [](const std::string& goal) {
    const auto answer = answer_of(
        load(easy_life(R"("goals": [)" + goal +
                       R"(], "changes": [{"name": "n", "options": [{"name": "as it is"}]}])")));
    return answer.candidates.front().goals.front();
  };
  // A job of an hour every two hours on two GPUs: a good quarter of the GPU hours is work.
  const double hours = reached(R"({"done_by": "19 h"})").value->median / 3600;
  CHECK(reached(R"({"done_by": "1 h"})").probability == 0);
  CHECK(reached(R"({"done_by": ")" + std::to_string(hours + 0.01) + " h\"}").probability == 1);
  CHECK(reached(R"({"done_by": ")" + std::to_string(hours - 0.01) + " h\"}").probability == 0);
  const double goodput = reached(R"({"goodput_at_least": 0.1})").value->median;
  CHECK(goodput > 0.2);
  CHECK(goodput < 0.3);
  CHECK(reached(R"({"goodput_at_least": 0.2})").probability == 1);
  CHECK(reached(R"({"goodput_at_least": 0.3})").probability == 0);
}

TEST_CASE("a goal is reached with the share of seeds that reach it", "[fleet-plan]")
{
  const auto plan = load(crowd(R"("goals": [{"wait_p90_at_most": "30 min"}])"));
  const auto runs = run_fleet_points(plan.points, {1, 10, false, {}});
  const FleetPlanAnswer answer = judge_fleet_plan(plan, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto few = std::count_if(runs[i].all_wait_p90.begin(), runs[i].all_wait_p90.end(),
                                   [](double wait) { return wait <= 1800; });
    CHECK_THAT(answer.candidates[i].probability + 1, test::is(1 + static_cast<double>(few) / 10));
  }
  CHECK(answer.candidates.front().probability == 0); // twice as much work as one GPU does
  REQUIRE(answer.recommended.is_number());
  const auto best = answer.recommended.get<std::size_t>();
  CHECK(answer.candidates[best].probability >= 0.9);
  CHECK(answer.candidates[best - 1].probability < 0.9);
  // Both goals in the same seed: not more often than the rarer one.
  const auto both =
      load(crowd(R"("goals": [{"wait_p90_at_most": "30 min"}, {"done_by": "52 h"}])"));
  const FleetPlanAnswer of_both = answer_of(both, 10);
  for (const FleetCandidateAnswer& it : of_both.candidates)
    CHECK(it.probability <= std::min(it.goals[0].probability, it.goals[1].probability));
}

TEST_CASE("nothing is recommended where nothing reaches the goal", "[fleet-plan]")
{
  const FleetPlanAnswer answer =
      answer_of(load(crowd(R"("goals": [{"done_by": "1 h"}], "confidence": 0.5)")), 2);
  CHECK(answer.recommended.is_null());
  CHECK_THAT(fleet_plan_table(answer), Catch::Contains("No candidate reaches the goals") &&
                                           Catch::Contains("The nearest, nodes "));
}

TEST_CASE("jobs that never run hold no goal", "[fleet-plan]")
{
  const std::string large = R"({"fleet": {"cluster": {"nodes": 4, "gpus_per_node": 1},
    "arrivals": {"process": "even", "per_hour": 1, "until": "10 h", "mix": [
      {"gpus": 1, "run_time": "6 min"}, {"gpus": 4, "run_time": "6 min"}]}},
    "changes": [{"name": "nodes", "vary": "/cluster/nodes", "values": [4, 2]}],
    "goals": [)";
  const FleetPlanAnswer waits = answer_of(load(large + R"({"wait_p90_at_most": "1 h"}]})"), 3);
  CHECK(waits.recommended == 0);
  CHECK(waits.candidates[1].never_run.value() > 0);
  CHECK(waits.candidates[1].wait_p90_s->median < 3600); // of those that ran
  CHECK(waits.candidates[1].probability == 0);
  const FleetPlanAnswer done = answer_of(load(large + R"({"done_by": "11 h"}]})"), 3);
  CHECK(done.candidates[1].probability == 0);
  CHECK_FALSE(done.candidates[1].goals[0].value); // they are never done
  CHECK(done.candidates[0].goals[0].value->median > 8 * 3600);
}

TEST_CASE("candidates that cannot be say why, and others are chosen from", "[fleet-plan]")
{
  const FleetPlanAnswer answer = answer_of(load(easy_life(
      R"("goals": [{"done_by": "100 h"}], "description": "Which?", "changes": [
        {"name": "nodes", "vary": "/cluster/nodes", "values": [2, 1]},
        {"name": "maintenance", "options": [{"name": "none"}, {"name": "second",
          "set": {"/maintenance": [{"from": "0 s", "length": "1 s", "first_node": 1}]}}]}])")));
  REQUIRE(answer.candidates.size() == 4);
  CHECK(answer.recommended == 2); // one node, none
  CHECK(written(answer).at("description") == "Which?");
  CHECK_THAT(answer.candidates[3].error, Catch::Contains("/maintenance/0/first_node"));
  CHECK_THAT(fleet_plan_table(answer),
             Catch::Contains("Without answer: ") && Catch::Contains("/maintenance/0/first_node"));
}

TEST_CASE("spares count as nodes, and prices decide where there are any", "[fleet-plan]")
{
  const std::string changes = R"("goals": [{"wait_p90_at_most": "1 h"}], "changes": [
    {"name": "spares", "vary": "/failures/spares", "values": [2, 0]},
    {"name": "nodes", "options": [{"name": "two"},
      {"name": "three", "set": {"/cluster/nodes": 3}, "cost": {"fixed": -5000}}]}])";
  const std::string failures = R"(}, "failures": {"per_1000_node_days": 0, "repair":
    {"median": "1 h", "mean": "1 h"})";
  const FleetPlanAnswer free = answer_of(load(easy_life(changes, failures)));
  CHECK(free.candidates[0].nodes == 4);
  CHECK(free.candidates[3].nodes == 3);
  const FleetPlanAnswer paid = answer_of(load(
      easy_life(changes + R"(, "cost": {"fixed": 10, "node": 1000, "gpu": 100, "node_hour": 2})",
                R"(, "price_per_gpu_hour": 3)" + failures)));
  const double hours = paid.candidates[2].makespan_s->median / 3600;
  CHECK_THAT(paid.candidates[2].cost.value(), test::is(10 + 2 * (1100 + hours * (2 + 3))));
  CHECK_THAT(paid.candidates[3].cost.value(), test::is(10 + 3 * (1100 + hours * 5) - 5000));
  CHECK(paid.recommended == 3);
  CHECK(paid.recommended_by == "cost");
  const FleetPlanAnswer poor =
      answer_of(load(easy_life(changes + R"(, "cost": {"node": 1000}, "budget": 100)", failures)));
  CHECK(poor.recommended == 3); // -2,000
  CHECK_THAT(fleet_plan_csv(poor), Catch::Contains("\r\n2,two,4,4,4000,1,false,0,"));
}

TEST_CASE("a plan over a fleet is told what is wrong with it", "[fleet-plan]")
{
  const auto refused = [](const std::string& text, const std::string& why) {
    CAPTURE(text);
    CHECK_THROWS_WITH(load(text), Catch::Contains(why));
  };
  const std::string changes =
      R"("changes": [{"name": "nodes", "vary": "/cluster/nodes", "values": [1, 2]}])";
  const std::string goals = R"("goals": [{"done_by": "1 h"}])";
  refused(easy_life(changes), "/goals must hold at least one goal");
  refused(easy_life(changes + R"(, "goals": [{"done_by": "1 h", "goodput_at_least": 0.5}])"),
          "must have exactly one of");
  refused(easy_life(changes + R"(, "goals": [{"training_at_most": "1 h"}])"),
          "/goals/0/training_at_most is for plans of an experiment");
  refused(easy_life(changes + ", " + goals + R"(, "budget": 3)"), "/budget needs prices");
  refused(easy_life(goals + R"(, "changes": [{"name": "n", "vary": "/seeds", "values": [1]}])"),
          "sets /seeds, and all candidates");
  refused(easy_life(changes + ", " + goals + R"(, "profiles": ["x"])"), "/profiles are for plans");
  refused(R"({"changes": []})", "/experiment is missing, or fleet");
  refused(easy_life(goals + R"(, "changes": [{"name": "n", "vary": "/cluster/nodes"}])"),
          "must have vary and values together");
  refused(easy_life(goals + R"(, "changes": [{"name": "n", "vary": "/a", "values": [1],
                                "options": [{"name": "x"}]}])"),
          "must not be given beside vary");
  refused(easy_life(goals + R"(, "changes": [{"name": "n", "vary": "a", "values": [1]}])"),
          "must be a JSON pointer");
  refused(easy_life(goals + R"(, "changes": [{"name": "n", "vary": "/a", "values": [1, 1]}])"),
          "/changes/0/values/1 stands there twice");
  refused(easy_life(goals + R"(, "changes": [{"name": "n"}])"), "or vary, a pointer");
  refused(
      easy_life(goals + R"(, "changes": [{"name": "n", "vary": "/policy", "values": ["esay"]}])"),
      "did you mean 'easy'?");
  const test::TextFile file("plan.json", easy_life(changes + ", " + goals));
  CHECK_THROWS_WITH(load_plan(file.path(), {}, {}), Catch::Contains("is no experiment"));
}

} // namespace foretrain::fleet_plan_test
