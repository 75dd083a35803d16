// What a plan's answer says, from predictions whose numbers are known.
#include "experiments/answers/plan_answer.hpp"

#include "experiments/report/report_plan.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/told.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace foretrain::plan_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Json plan_json()
{
  return Json::parse(R"({
    "name": "growth",
    "experiment": {
      "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
      "jobs": [{"name": "train", "model": "resnet50", "framework": "pytorch-horovod", "epochs": 90,
                "batch_per_gpu": 64, "gpus": 8}],
      "sweep": {"/jobs/0/gpus": [1, 2]},
      "expect": [{"quantity": "/speedup", "at_least": 1000}]},
    "changes": [
      {"name": "network", "options": [
        {"name": "slow", "set": {"/stack/network": "ipoib"}},
        {"name": "quick", "set": {"/stack/network": "rdma"}, "cost": {"node": 100}}]},
      {"name": "size", "options": [
        {"name": "small"},
        {"name": "large", "set": {"/cluster/nodes": 4}, "cost": {"fixed": 5000, "gpu": 10}}]}],
    "cost": {"fixed": 1, "node_hour": 3},
    "goals": [{"throughput_at_least": 1000}]})");
}

LoadedPlan load(const Json& json)
{
  const auto path = std::filesystem::temp_directory_path() /
                    ("foretrain-plan-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << json.dump();
  try {
    LoadedPlan plan = load_plan(path.string(), {}, {});
    std::filesystem::remove(path);
    return plan;
  } catch (...) {
    std::filesystem::remove(path);
    throw;
  }
}

// Candidates in order: slow small, slow large, quick small, quick large.
Json prediction(const LoadedPlan& plan, const std::vector<double>& rates, double spread = 0.1)
{
  Json points = Json::array();
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double rate = rates[i];
    points.push_back(
        {{"settings", settings_json(plan.experiment.points[i].settings)},
         {"jobs",
          {{{"name", "train"},
            {"throughput_samples_per_s",
             {{"median", rate}, {"low", 0.9 * rate}, {"high", 1.1 * rate}, {"interval", 0.9}}},
            {"step_time_s", {{"median", 100 / rate}}},
            {"training_s", {{"total", 3600 * 1000 / rate}}},
            {"uncertainty",
             {{"from_parameters", spread},
              {"run_to_run", 0.0},
              {"contributions", {{{"parameter", "gpu"}, {"effect", spread}}}}}},
            {"bottleneck", {{"resource", i < 2 ? "node0/ib0/tx" : "node0/gpu0/compute"}}}}}}});
  }
  return {{"version", "1"}, {"seed", 1}, {"points", points}};
}

PlanAnswer judge(const LoadedPlan& plan, const Json& prediction)
{
  return experiments::judge(plan, test::told(prediction));
}

} // namespace

TEST_CASE("Candidates are all ways to choose, today's first, without the experiment's sweep")
{
  const LoadedPlan plan = load(plan_json());
  REQUIRE(plan.candidates.size() == 4);
  CHECK(plan.experiment.spec.expect.empty());
  CHECK(plan.candidates[0].nodes == 2);
  CHECK(plan.candidates[1].nodes == 4);
  CHECK(plan.candidates[1].gpus == 16);
  CHECK(plan.candidates[3].options == std::vector<std::size_t>{1, 1});
  const Json& last = plan.experiment.points[3].document->root;
  CHECK(last.at("/stack/network"_json_pointer) == "rdma");
  CHECK(last.at("/cluster/nodes"_json_pointer) == 4);
}

TEST_CASE("A goal above what is likely is as unlikely as the interval says")
{
  const LoadedPlan plan = load(plan_json());
  Json points = prediction(plan, {950, 800, 900, 1100}, 0.2);
  for (Json& point : points.at("points")) {
    point["jobs"][0]["uncertainty"]["slower"] = 0.2;
    point["jobs"][0]["uncertainty"]["faster"] = 0.05;
  }
  const Json answer = written(judge(plan, points));
  const auto probability = [&](std::size_t i) {
    return answer.at("candidates")[i].at("probability").get<double>();
  };
  const auto above = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  // The goal is 1000.
  CHECK_THAT(probability(3), test::is(above(std::log(1.1) / 0.2)));
  CHECK_THAT(probability(0), test::is(above(std::log(0.95) / 0.05)));
}

TEST_CASE("Costs add up over options, nodes, GPUs and hours; the cheapest way to the goal is told")
{
  const LoadedPlan plan = load(plan_json());
  const PlanAnswer told = judge(plan, prediction(plan, {500, 800, 1250, 2000}));
  const Json answer = written(told);
  const Json& candidates = answer.at("candidates");
  // Hours: 1000 / rate. slow small: 1 + 3 x 2 nodes x 2 h; slow large: + 5000 + 10 x 16 GPUs.
  CHECK_THAT(candidates[0].at("cost").get<double>(), test::is(1 + 3 * 2 * 2.0));
  CHECK_THAT(candidates[1].at("cost").get<double>(), test::is(1 + 3 * 4 * 1.25 + 5000 + 160));
  CHECK_THAT(candidates[2].at("cost").get<double>(), test::is(1 + 3 * 2 * 0.8 + 200));
  CHECK_THAT(candidates[3].at("cost").get<double>(), test::is(1 + 3 * 4 * 0.5 + 400 + 5000 + 160));
  CHECK_THAT(candidates[0].at("probability").get<double>(),
             test::is(0.5 * std::erfc(std::log(2.0) / 0.1 / std::sqrt(2.0))));
  CHECK(answer.at("recommended") == 2);
  CHECK(answer.at("frontier") == Json({0, 2, 3})); // slow and large costs more than quick and small
  REQUIRE(answer.at("single_changes").size() == 2);
  const Json& first = answer.at("single_changes")[0];
  CHECK(first.at("option") == "quick");
  CHECK_THAT(first.at("throughput_ratio").get<double>(), test::is(2.5));
  CHECK(first.at("probability_faster") == 1.0); // both are off by the same GPU
  CHECK(first.at("limited_by") != first.at("limited_before"));
  const std::string text = report_plan(told, {200, false});
  CHECK_THAT(text, Contains("network: quick, size: small reaches the goals"));
  const std::string csv = plan_csv(told);
  CHECK_THAT(csv, Catch::Matchers::StartsWith("network,size,cluster_nodes,cluster_gpus,cost,"));
  CHECK_THAT(csv, Contains("\r\nquick,small,2,8,205.8,"));
  CHECK_THAT(csv, Contains(",true,true,train,1250.0,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  CHECK_THAT(text, Contains("the limit moves from node0/ib0/tx to node0/gpu0/compute"));
}

TEST_CASE("Without a sure way nothing is recommended, and the nearest is told")
{
  Json json = plan_json();
  SECTION("the goal is too high")
  {
    json["goals"][0]["throughput_at_least"] = 3000;
  }
  SECTION("sureness is asked for that the prediction has not")
  {
    json["goals"][0]["throughput_at_least"] = 1990;
  }
  SECTION("it costs too much")
  {
    json["budget"] = 100;
  }
  const LoadedPlan plan = load(json);
  const PlanAnswer answer = judge(plan, prediction(plan, {500, 800, 1250, 2000}));
  CHECK(!answer.recommended);
  CHECK_THAT(report_plan(answer), Contains("No candidate"));
}

TEST_CASE("Where no candidate counts it is told why")
{
  Json json = plan_json();
  json["changes"].push_back(Json::parse(R"({"name": "gpus", "options": [
      {"name": "8"}, {"name": "16", "set": {"/jobs/0/gpus": 16}}]})"));
  json["budget"] = 0;
  const LoadedPlan plan = load(json);
  PlanAnswer answer = judge(plan, prediction(plan, {500, 800, 1600, 1250, 2000, 4000}));
  CHECK_THAT(report_plan(answer),
             Contains("No candidate counts: 2 do not work, 6 are above the budget."));
  answer.candidates[0].fits = false;
  CHECK_THAT(report_plan(answer), Contains("No candidate counts: 1 needs more memory than a GPU "
                                           "has, 2 do not work, 5 are above the budget."));
}

TEST_CASE("Goals for steps and trainings, and a budget alone")
{
  Json json = plan_json();
  std::size_t expected = 0;
  SECTION("step") // 100 / rate
  {
    json["goals"][0] = {{"step_time_at_most", "60 ms"}};
    expected = 3;
  }
  SECTION("training") // 1000 / rate hours
  {
    json["goals"][0] = {{"training_at_most", "0.9 h"}};
    expected = 2;
  }
  SECTION("the fastest within a budget")
  {
    json.erase("goals");
    json["budget"] = 5300;
    expected = 2;
  }
  const LoadedPlan plan = load(json);
  CHECK(judge(plan, prediction(plan, {500, 800, 1250, 2000}, 0.05)).recommended == expected);
}

TEST_CASE("Of rates within half a percent the cheaper one is recommended, as on the frontier")
{
  Json json = plan_json();
  json["goals"][0] = {{"throughput_at_least", 100}};
  Json& quick = json["changes"][0]["options"][1];
  SECTION("cheaper by less than that, too") // 3 * 2 nodes * 1000 / rate hours
  {
    quick.erase("cost");
    const LoadedPlan plan = load(json);
    CHECK(judge(plan, prediction(plan, {1000, 200, 1002, 200}, 0.05)).recommended == 2);
    CHECK(judge(plan, prediction(plan, {1002, 200, 1000, 200}, 0.05)).recommended == 0);
  }
  SECTION("dearer by less than that, and faster by more")
  {
    const auto with = [&](double fixed) {
      quick["cost"] = {{"fixed", fixed}};
      const LoadedPlan plan = load(json);
      return judge(plan, prediction(plan, {1000, 200, 1100, 200}, 0.05));
    };
    const PlanAnswer free = with(0);
    const double today = free.candidates[0].cost;
    CHECK(with(1.004 * today - free.candidates[2].cost).recommended == 0);
    CHECK(with(0.996 * today - free.candidates[2].cost).recommended == 2);
  }
  SECTION("with a budget alone")
  {
    json.erase("goals");
    json["budget"] = 5300;
    const LoadedPlan plan = load(json);
    CHECK(judge(plan, prediction(plan, {1000, 200, 1002, 200}, 0.05)).recommended == 0);
    CHECK(judge(plan, prediction(plan, {1000, 200, 1010, 200}, 0.05)).recommended == 2);
  }
}

TEST_CASE("Goals in tokens per second are of transformers")
{
  Json json = plan_json();
  json["goals"][0] = {{"tokens_per_s_at_least", 3e6}};
  CHECK_THROWS_WITH(load(json), Contains("/goals/0/tokens_per_s_at_least") &&
                                    Contains("is of transformers, which the model of job 'train'"));
  json["experiment"]["jobs"][0]["model"] = "gpt2-small";
  json["experiment"]["jobs"][0]["framework"] = "pytorch-ddp";
  json["experiment"]["jobs"][0].erase("epochs");
  json["experiment"]["jobs"][0]["tokens"] = "1B";
  const LoadedPlan plan = load(json);
  Json told = prediction(plan, {500, 800, 1250, 2000}, 0.05);
  for (std::size_t i = 0; i < 4; ++i) // of 2,048 tokens a sample; the last has another model
    if (i < 3)
      told["points"][i]["jobs"][0]["tokens_per_s"]["median"] =
          2048 * told["points"][i]["jobs"][0]["throughput_samples_per_s"]["median"].get<double>();
  const Json answer = written(judge(plan, told));
  CHECK(answer.at("goals")[0] == "train: at least 3e+06 tokens/s");
  CHECK_THAT(answer.at("candidates")[2].at("goals")[0].at("reached").get<double>(),
             test::is(2048 * 1250 / 3e6));
  CHECK(answer.at("candidates")[3].at("goals")[0].at("reached") == 0);
  CHECK(answer.at("recommended").is_null());
}

TEST_CASE("An interrupted plan chooses among what it reached")
{
  const LoadedPlan plan = load(plan_json());
  Json partial = prediction(plan, {500, 800, 1250, 2000});
  partial["points"].erase(2);
  partial["interrupted"] = true;
  const PlanAnswer answer = judge(plan, partial);
  CHECK(answer.recommended == 3U);
  CHECK(answer.candidates[2].error == "not reached");
  CHECK_THAT(report_plan(answer), Contains("interrupted"));
}

TEST_CASE("Options that do not go together make no candidate; the others are judged")
{
  Json json = plan_json();
  json["changes"].push_back(Json::parse(R"({"name": "gpus", "options": [
      {"name": "8"}, {"name": "16", "set": {"/jobs/0/gpus": 16}}]})"));
  const LoadedPlan plan = load(json); // 16 GPUs need four nodes
  REQUIRE(plan.candidates.size() == 8);
  CHECK(plan.experiment.points.size() == 6);
  const PlanAnswer answer = judge(plan, prediction(plan, {500, 800, 1600, 1250, 2000, 4000}));
  CHECK_THAT(answer.candidates[1].error, Contains("only 8 GPUs"));
  CHECK(answer.candidates[3].jobs[0].throughput.median == 1600.0);
  CHECK(answer.recommended == 4U);
}

TEST_CASE("An answer that no run can have given is refused")
{
  const LoadedPlan plan = load(plan_json());
  const Json answer = written(judge(plan, prediction(plan, {500, 800, 1250, 2000})));
  CHECK(written(read_from<PlanAnswer>(answer, "plan")) == answer);
  const auto refused = [&answer](const char* pointer, const Json& value) {
    Json changed = answer;
    changed[Json::json_pointer(pointer)] = value;
    try {
      read_from<PlanAnswer>(changed, "plan");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK_THAT(refused("/recommended", 4U), Contains("/recommended is of candidate 4"));
  CHECK_THAT(refused("/frontier", {0U, 7U}), Contains("/frontier is of candidate 7"));
  CHECK_THAT(refused("/candidates", Json::array()), Contains("/candidates must not be empty"));
  CHECK_THAT(refused("/candidates/2/jobs", Json::array()), Contains("jobs must be there"));
  CHECK_THAT(refused("/judged_by", "chance"), Contains("training, steps"));
}

TEST_CASE("What does not fit into a GPU's memory is never recommended")
{
  const LoadedPlan plan = load(plan_json());
  Json large = prediction(plan, {500, 800, 1250, 2000});
  large["points"][2]["jobs"][0]["device_memory_byte"] = {{"needed", 17e9}, {"available", 16e9}};
  const PlanAnswer answer = judge(plan, large);
  CHECK(answer.recommended == 3U);
  CHECK(answer.frontier == std::vector<std::size_t>{0, 1, 3});
  CHECK_THAT(report_plan(answer), Contains("need more memory than a GPU has"));
}

TEST_CASE("A wrong plan is refused with the place and what is allowed")
{
  const auto refused = [](const std::string& pointer, const Json& value) {
    Json json = plan_json();
    json[Json::json_pointer(pointer)] = value;
    try {
      load(json);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK_THAT(refused("/goals/0/job", "trian"), Contains("did you mean 'train'"));
  CHECK_THAT(refused("/goals/0/step_time_at_most", "1 s"), Contains("must have exactly one of"));
  CHECK_THAT(refused("/changes/0/options/1/set", {{"/stack/network", "rmda"}}),
             Contains("did you mean 'rdma'"));
  CHECK_THAT(refused("/changes/0/options/1/set", {{"stack", "rdma"}}), Contains("JSON pointer"));
  CHECK_THAT(refused("/changes/1/name", "network"), Contains("another change"));
  CHECK_THAT(refused("/changes/1/options/1/name", "small"), Contains("another option"));
  CHECK_THAT(refused("/changes", Json::array()), Contains("at least one change"));
  CHECK_THAT(refused("/changes/1/options/1/set", {{"/jobs/0/gpus", 9}}), Contains("only 8 GPUs"));
  CHECK_THAT(refused("/changes/1/options/1/set", {{"/stack", {{"host", "vm"}}}}),
             Contains("change 'network' sets /stack/network"));
  CHECK_THAT(
      refused("/experiment/jobs/0",
              {{"model", "resnet50"}, {"framework", "pytorch-horovod"}, {"batch_per_gpu", 64}}),
      Contains("epochs"));
  CHECK_THAT(refused("/experiment", 3), Contains("experiment"));
  CHECK_THAT(refused("/changes/1/options/1/set", {{"/sweep", Json::object()}}),
             Contains("options/1/set/~1sweep is left out of plans"));
  CHECK_THAT(refused("/changes/1", {{"name", "n"}, {"vary", "/sweep/x"}, {"values", {1}}}),
             Contains("/changes/1/vary is left out of plans"));
  CHECK_THAT(
      refused("/changes/1", {{"name", "size"}, {"vary", "/jobs/0/gpus"}, {"values", {8, 9}}}),
      Contains("/changes/1/values/1 works in no combination") && Contains("only 8 GPUs"));
  CHECK_THAT(
      refused("/changes/1", {{"name", "n"}, {"vary", "/stack/network"}, {"values", {"ipoib"}}}),
      Contains("/changes/1/values/0 sets /stack/network"));
}

TEST_CASE("Equal costs are equal to the last bit, and then the faster one counts")
{
  Json json = plan_json();
  json["goals"][0] = {{"throughput_at_least", 100}};
  json["cost"] = Json::object();
  json["changes"] = Json::parse(R"([{"name": "storage", "options": [
    {"name": "today", "cost": {"fixed": 0.3}}, {"name": "other", "cost": {"fixed": 0.1, "node": 0.1}},
    {"name": "third", "cost": {"fixed": 0.3}}]}])");
  const LoadedPlan plan = load(json);
  REQUIRE(0.1 + 2 * 0.1 != 0.3);
  const auto of = [&](const std::vector<double>& rates) {
    return judge(plan, prediction(plan, rates, 0.05));
  };
  const PlanAnswer same = of({1000, 1000 * (1 + 1e-12), 1000});
  CHECK(same.recommended == 0U);
  CHECK(same.fastest == 0U);
  CHECK(same.frontier == std::vector<std::size_t>{0});
  for (const std::vector<double>& rates :
       {std::vector<double>{1000, 1003, 1001}, std::vector<double>{1000, 1003, 1002}}) {
    const PlanAnswer answer = of(rates);
    CHECK(answer.recommended == 1U);
    CHECK(answer.fastest == 1U);
    CHECK(answer.frontier == std::vector<std::size_t>{1});
  }
  Json budget = json;
  budget.erase("goals");
  budget["budget"] = 1;
  const LoadedPlan within = load(budget);
  CHECK(judge(within, prediction(within, {1000, 1003, 1001}, 0.05)).recommended == 1U);
}

TEST_CASE("A change that does not fit says so, and comes after those that do")
{
  const LoadedPlan plan = load(plan_json());
  Json large = prediction(plan, {500, 800, 1250, 2000});
  large["points"][2]["jobs"][0]["device_memory_byte"] = {{"needed", 17e9}, {"available", 16e9}};
  const PlanAnswer answer = judge(plan, large);
  REQUIRE(answer.single_changes.size() == 2);
  CHECK(answer.single_changes[0].option == "large");
  CHECK(answer.single_changes[1].option == "quick");
  const auto words = plan_changes(answer);
  CHECK_THAT(words[1], Contains("it does not fit in GPU memory"));
  CHECK_THAT(words[0], !Contains("does not fit"));
}

TEST_CASE("A training of so many steps is of more samples where steps are larger")
{
  const LoadedPlan plan = load(plan_json());
  Json larger = prediction(plan, {1000, 1000, 1000, 1000});
  for (std::size_t i = 0; i < 4; ++i)
    larger["points"][i]["jobs"][0]["training_s"] = {{"total", i == 1 ? 3600 : 1000},
                                                    {"samples", i == 1 ? 4e6 : 1e6}};
  const PlanAnswer answer = judge(plan, larger);
  REQUIRE(answer.single_changes[0].option == "large");
  CHECK_THAT(plan_changes(answer)[0],
             Contains("a training of 4 times the samples, each 1.11 times as fast"));
  CHECK_THAT(plan_changes(answer)[1], Contains("the same time to train"));
}

TEST_CASE("What misses the confidence misses it in print, and warnings are today's where nothing "
          "is chosen")
{
  Json json = plan_json();
  const double sigma = 0.1;
  const double goal = 1000 * std::exp(-1.2755 * sigma); // 89.9 % of normal deviations
  json["goals"][0] = {{"throughput_at_least", goal}};
  json["confidence"] = 0.9;
  const LoadedPlan plan = load(json);
  Json slow = prediction(plan, {1000, 100, 100, 100}, sigma);
  slow["points"][0]["warnings"] = {"today's own"};
  const PlanAnswer answer = judge(plan, slow);
  CHECK(!answer.recommended);
  CHECK(answer.candidates[0].probability == Approx(0.899).epsilon(1e-3));
  const std::string text = report_plan(answer);
  CHECK_THAT(text, Contains(" 89.8 ") || Contains(" 89.9 "));
  CHECK_THAT(text, Contains("today's own"));
}

} // namespace foretrain::plan_test
