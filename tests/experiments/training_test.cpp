// How long a training takes and what it costs: one notion, however its length is told and whoever
// is asked.
#include "experiments/answers/check.hpp"
#include "experiments/answers/plan_answer.hpp"
#include "experiments/answers/tune.hpp"
#include "experiments/report/report_table.hpp"
#include "experiments/run/keep/judged.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace foretrain::training_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Json transformer(const Json& length)
{
  Json job = {
      {"model", "gpt2-small"}, {"framework", "megatron"}, {"precision", "bf16"}, {"gpus", 8},
      {"global_batch", 64},    {"sequence", 1024},        {"steps", 2}};
  job.update(length);
  return job;
}

Json network(const Json& length)
{
  Json job = {{"model", "resnet50"},
              {"framework", "pytorch-ddp"},
              {"batch_per_gpu", 64},
              {"gpus", 8},
              {"steps", 4}};
  job.update(length);
  return job;
}

Json experiment(const Json& job, const Json& price = 2.5)
{
  return {
      {"name", "money"},
      {"cluster", {{"platform", "hgx-h100"}, {"price_per_gpu_hour", price}, {"currency", "USD"}}},
      {"jobs", {job}}};
}

Point point_of(const Json& json)
{
  return {{}, parse_document(json.dump(), "test"), nullptr};
}

PointResult run(const Json& json)
{
  RunOptions options;
  options.uncertainty.method = UncertaintyMethod::steps;
  return run_point(point_of(json), options);
}

LoadedPlan plan_of(const Json& json, const Json& goal)
{
  const auto path = std::filesystem::temp_directory_path() /
                    ("foretrain-training-" + std::to_string(getpid()) + ".json");
  const Json plan = {
      {"experiment", json},
      {"changes",
       {{{"name", "GPUs"},
         {"options", {{{"name", "8"}}, {{"name", "16"}, {"set", {{"/jobs/0/gpus", 16}}}}}}}}},
      {"cost", {{"node_hour", 10}}},
      {"goals", {goal}}};
  std::ofstream(path) << plan.dump();
  try {
    LoadedPlan loaded = load_plan(path.string(), {}, {});
    std::filesystem::remove(path);
    return loaded;
  } catch (...) {
    std::filesystem::remove(path);
    throw;
  }
}

} // namespace

TEST_CASE("days = (start-up + samples / rate) / 86400, cost = days 24 GPUs price",
          "[training][closed-form]")
{
  const double samples = 1e6;
  std::vector<Json> all{
      transformer({{"tokens", samples * 1024}}), transformer({{"training_steps", samples / 64}}),
      network({{"training_steps", samples / 512}}), network({{"epochs", samples / 1281167}})};
  Json images = transformer({{"epochs", samples / 1281167}});
  images["model"] = "vit-b16";
  images["sequence"] = 197;
  all.push_back(images);
  for (const Json& json : all) {
    CAPTURE(json.dump());
    const JobResult job = run(experiment(json)).jobs.at(0);
    const double start = job.elapsed.start_up.value();
    const auto days = [&](double rate) { return (start + samples / rate) / 86400; };
    REQUIRE(job.days);
    CHECK_THAT(job.training->samples, test::is(samples));
    CHECK_THAT(job.days->median, test::is(days(job.throughput.median)));
    CHECK_THAT(job.days->low, test::is(days(job.throughput.high)));
    CHECK_THAT(job.days->high, test::is(days(job.throughput.low)));
    CHECK_THAT(job.training->total.value(), test::is(86400 * job.days->median));
    CHECK_THAT(job.cost->median, test::is(job.days->median * 24 * 8 * 2.5));
    CHECK_THAT(job.cost->high, test::is(job.days->high * 24 * 8 * 2.5));
    CHECK(job.currency == "USD");
  }
}

TEST_CASE("Prices are one number, or by platform", "[training]")
{
  const Json job = transformer({{"tokens", "1B"}});
  const double one = run(experiment(job, 2.5)).jobs.at(0).cost->median;
  CHECK_THAT(run(experiment(job, {{"hgx-b200", 9}, {"hgx-h100", 5}})).jobs.at(0).cost->median,
             test::is(2 * one));
  CHECK_THAT(run(experiment(job, {{"h100", 5}})).jobs.at(0).cost->median, test::is(2 * one));
  CHECK_THROWS_WITH(run(experiment(job, {{"hgx-b200", 9}})),
                    Contains("/cluster/price_per_gpu_hour has no price of platform 'hgx-h100'") &&
                        Contains("priced are hgx-b200"));
  CHECK_THROWS_WITH(run(experiment(job, "cheap")),
                    Contains("must be a price") && Contains("got \"cheap\""));
  CHECK_THROWS_WITH(run(experiment(job, {{"hgx-h100", -1}})),
                    Contains("/hgx-h100 must be a price"));
}

TEST_CASE("A price without a length is told, two lengths are refused", "[training]")
{
  const auto warned = [](const Json& job) {
    const PointResult result = run(experiment(job));
    CHECK_FALSE(result.jobs.at(0).cost);
    std::string all;
    for (const std::string& warning : result.warnings)
      all += warning;
    return all;
  };
  CHECK_THAT(warned(network(Json::object())), Contains("\"price_per_gpu_hour\" tells nothing") &&
                                                  Contains("\"epochs\" or \"training_steps\""));
  CHECK_THAT(warned(transformer(Json::object())), Contains("\"tokens\" or \"training_steps\""));
  CHECK_THAT(warned(transformer({{"epochs", 2}})),
             Contains("its length is \"tokens\" or \"training_steps\""));
  CHECK_THAT(warned(network({{"steps", 1000}})), Contains("of a training is \"training_steps\""));
  CHECK_THAT(warned(network({{"steps", 999}})), !Contains("are simulated and measured"));
  CHECK_THROWS_WITH(run(experiment(transformer({{"tokens", 1e9}, {"training_steps", 5}}))),
                    Contains("training_steps stands beside \"tokens\""));
}

TEST_CASE("A length of training in tokens is one that somebody could train", "[training]")
{
  for (const Json& wrong : {Json(0), Json(-5), Json("0 B"), Json("-1T")})
    CHECK_THROWS_WITH(run(experiment(transformer({{"tokens", wrong}}))),
                      Contains("/jobs/0/tokens must be greater than zero, got "));
  CHECK_THROWS_WITH(run(experiment(transformer({{"tokens", "1e9 T"}}))),
                    Contains("/jobs/0/tokens must be at most 1e18, got \"1e9 T\""));
}

TEST_CASE("Presets of older code say their years and name the newer one", "[training]")
{
  const auto warned = [](const char* framework) {
    std::string all;
    for (const std::string& warning :
         run(experiment(transformer({{"framework", framework}}))).warnings)
      all += warning + "\n";
    return all;
  };
  // As old as the H100 itself, and older.
  CHECK_THAT(warned("pytorch-fsdp"), Contains("stands for code of 2023 and before; for later code: "
                                              "\"torchtitan\""));
  CHECK_THAT(warned("megatron"),
             Contains("stands for code of 2021 and before, and the H100-SXM5-80GB came later") &&
                 Contains("\"attention\": \"plain\""));
  CHECK_THAT(warned("torchtitan"), !Contains("stands for code of"));
}

TEST_CASE("What moves a step most is named where nobody tells it", "[training]")
{
  const auto warned = [](Json job, const Json& more, const char* left_out = "") {
    job.update(more);
    job.erase(left_out);
    std::string all;
    for (const std::string& warning : run(experiment(job)).warnings)
      all += warning + "\n";
    return all;
  };
  const auto experts = [&](const Json& framework, int expert) {
    return warned(transformer(Json::object()), {{"model", "mixtral-8x7b"},
                                                {"framework", framework},
                                                {"parallel", {{"expert", expert}}},
                                                {"sequence", 4096}});
  };
  CHECK_THAT(experts("nemo", 8),
             Contains("outside the interval: \"dispatcher\" of the framework's \"transformer\" "
                      "(all-to-all), \"cuda_graphs\" of the framework's \"transformer\" (none)"));
  CHECK_THAT(experts("nemo", 1), !Contains("\"dispatcher\"") && Contains("\"cuda_graphs\""));
  const Json told = {{"extends", "nemo"},
                     {"transformer", {{"dispatcher", "deep-ep"}, {"cuda_graphs", "none"}}}};
  CHECK_THAT(experts(told, 8), !Contains("outside the interval"));
  CHECK_THAT(experts("megatron", 8), !Contains("outside the interval")); // code that had neither
  const Json dense = {{"framework", "nemo"}};
  CHECK_THAT(warned(transformer(Json::object()), dense), !Contains("outside the interval"));
  CHECK_THAT(warned(transformer(Json::object()), dense, "precision"),
             Contains("outside the interval: \"precision\" (fp32; programs"));
  CHECK_THAT(warned(transformer(Json::object()), {{"framework", "nemo"}, {"lora", {{"rank", 16}}}}),
             Contains("\"targets\" of \"lora\" (all four)"));
  CHECK_THAT(
      warned(transformer(Json::object()), {{"framework", "nemo"}, {"parallel", {{"pipeline", 2}}}}),
      Contains("\"virtual_stages\" of \"parallel\" (1)"));
  CHECK_THAT(
      warned(transformer(Json::object()),
             {{"framework", "nemo"}, {"parallel", {{"pipeline", 2}, {"virtual_stages", 1}}}}),
      !Contains("outside the interval"));
  CHECK_THAT(warned(network(Json::object()), Json::object()),
             Contains("(fp32; frameworks run convolutions in tf32 here)"));
  CHECK_THAT(warned(network(Json::object()), {{"precision", "fp32"}}),
             !Contains("outside the interval"));
}

TEST_CASE("Blackwell's collective library is one that knows it, unless a job names another",
          "[training]")
{
  const auto library = [](const char* platform, const Json& more) {
    Json job = transformer(more);
    job["framework"] = "nemo";
    Json all = experiment(job);
    all["cluster"]["platform"] = platform;
    for (const Parameter& it : run(all).parameters)
      if (it.name.ends_with("/library"))
        return it.value;
    return std::string();
  };
  CHECK(library("hgx-h100", Json::object()) == "NCCL 2.18");
  CHECK(library("hgx-b200", Json::object()) == "NCCL 2.27");
  CHECK(library("hgx-b200", {{"library", "nccl"}}) == "NCCL 2.18");
}

TEST_CASE("A plan's hours are those of the training, however its length is told",
          "[training][plan][long]")
{
  for (const Json& job : {transformer({{"tokens", "20B"}}), transformer({{"training_steps", 3e5}}),
                          network({{"epochs", 90}})}) {
    CAPTURE(job.dump());
    const LoadedPlan plan = plan_of(experiment(job), {{"training_at_most", "1000 h"}});
    CHECK(plan.spec.currency == "USD");
    PredictOptions options;
    options.jobs = 1;
    const Json answer =
        written(judge(plan, predict(plan.experiment, options, [](int, int) {}).result));
    CHECK(answer.at("judged_by") == "training");
    for (const Json& it : answer.at("candidates")) {
      const Json& told = it.at("jobs").at(0);
      const double hours = told.at("training_s").at("total").get<double>() / 3600;
      const double nodes = it.at("nodes").get<double>();
      CHECK(hours > 1);
      CHECK_THAT(it.at("cost").get<double>(),
                 test::is(nodes * 10 * hours + told.at("gpus").get<double>() * 2.5 * hours));
      CHECK_THAT(it.at("goals")[0].at("reached").get<double>(), test::is(1000 / hours));
    }
    // 16 GPUs are quicker; what they cost more decides which is recommended.
    CHECK(answer.at("fastest") == 1);
    const bool dearer =
        answer.at("candidates")[1].at("cost") > answer.at("candidates")[0].at("cost");
    CHECK(answer.at("recommended") == (dearer ? 0 : 1));
  }
  CHECK_THROWS_WITH(plan_of(experiment(transformer(Json::object())), {{"throughput_at_least", 1}}),
                    Contains("they need the length of the training in job 'train'"));
}

TEST_CASE("A training is judged as a whole, its first epoch is told as such", "[training][long]")
{
  Json json = R"({"cluster": {"platform": "c4140-k-v100-sxm2", "storage": "local-hdd"},
    "jobs": [{"model": "resnet50", "framework": "tensorflow-horovod", "precision": "fp16",
              "batch_per_gpu": 128, "gpus": 4, "input": "tfrecord", "steps": 8}],
    "sweep": {"/cluster/storage": ["local-hdd", "nvme"]}})"_json;
  const auto predicted = [](const Json& of) {
    PredictOptions options;
    options.jobs = 1;
    return predict(load_experiment(parse_document(of.dump(), "test"), {}, {}), options,
                   [](int, int) {})
        .result;
  };
  const ExperimentResult cold = predicted(json);
  const JobResult& slow = cold.points[0].jobs[0];
  const JobResult& quick = cold.points[1].jobs[0];
  REQUIRE(slow.later_epochs);
  REQUIRE(judged_rate(quick) > 2 * judged_rate(slow)); // of the first epoch
  Json one = json;
  one.erase("sweep");
  CHECK_THAT(report_table(predicted(one)), Contains("first epoch, whose caches are cold") &&
                                               Contains("whole training is judged"));
  json["jobs"][0]["epochs"] = 90;
  const ExperimentResult whole = predicted(json);
  const auto job = [&](std::size_t i) -> const JobResult& { return whole.points[i].jobs[0]; };
  const auto total = [&](std::size_t i) { return job(i).training->total.value(); };
  CHECK_THAT(judged_rate(job(1)) / judged_rate(job(0)), test::is(total(0) / total(1)));
  CHECK(total(0) < 1.5 * total(1));
}

TEST_CASE("The cheapest is told beside the fastest", "[training][long]")
{
  Json json = experiment(network({{"epochs", 90}}));
  json["sweep"] = {{"/jobs/0/gpus", {1, 8}}};
  PredictOptions options;
  options.jobs = 1;
  const ExperimentResult result =
      predict(load_experiment(parse_document(json.dump(), "test"), {}, {}), options, [](int, int) {
      }).result;
  const std::string table = report_table(result);
  CHECK_THAT(table, Contains("Cheapest is 1 GPU: ") && Contains(" USD in "));
}

TEST_CASE("A tuned plan costs what its prediction says, and is written as an experiment",
          "[training][tune][long]")
{
  const Json json = experiment(transformer({{"tokens", "1T"}}));
  const TuneAnswer answer = tune(point_of(json), 2, {});
  REQUIRE(answer.best.size() == 2);
  const Json told = foretrain::written(answer).at("plans").at(1);
  const Json written = tuned_experiment(point_of(json), answer.best.at(1), "");
  CHECK_THAT(written.at("description").get<std::string>(), Contains("Tuned: "));
  const JobResult job = run_point(point_of(written), {}).jobs.at(0);
  CHECK_THAT(told.at("tokens_per_s").at("median").get<double>(),
             test::is(job.tokens_per_s->median));
  CHECK_THAT(told.at("days").at("high").get<double>(), test::is(job.days->high));
  CHECK_THAT(told.at("cost").at("median").get<double>(), test::is(job.cost->median));
  CHECK(told.at("currency") == "USD");
  CHECK_THAT(tune_text(answer), Contains("days") && Contains("cost, USD"));
}

} // namespace foretrain::training_test
