// A tuned plan is what the same plan is predicted to be.
#include "experiments/answers/tune.hpp"

#include "experiments/answers/parallel_words.hpp"
#include "experiments/run/scenario.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/draw.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::tune_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Point point_of(const Json& job)
{
  Json json = {{"cluster", {{"platform", "hgx-h100"}}}, {"jobs", {job}}};
  return {{}, parse_document(json.dump(), "test"), nullptr};
}

// Tokens a second of the job as it stands; 0 where its plan cannot run or does not fit.
double rate_of(const Json& job)
{
  RunOptions options;
  options.uncertainty.method = UncertaintyMethod::steps;
  options.doubles_limits = false;
  try {
    const JobResult result = run_point(point_of(job), options).jobs.front();
    return result.memory.needed <= result.memory.available ? result.tokens_per_s->median : 0;
  } catch (const ConfigError&) {
    return 0;
  }
}

// Any plan that the keys of a job can say, within what tune does not leave out.
Json drawn_plan(Json job, bool experts, test::Draw& draw)
{
  const std::vector<int> ways{1, 1, 2, 4, 8};
  Json plan = {{"tensor", draw.of(ways)},
               {"context", draw.of(ways)},
               {"pipeline", draw.of(std::vector<int>{1, 1, 2, 4, 8, 16})},
               {"zero", draw.of(std::vector<int>{0, 1, 3})},
               {"sequence_parallel", draw.whole(0, 3) > 0}};
  if (plan["pipeline"] != 1 && draw.whole(0, 1) == 1) {
    plan["virtual_stages"] = draw.of(std::vector<int>{2, 3, 4, 6, 8});
    plan["schedule"] = "interleaved";
  }
  if (plan["zero"] != 0 && draw.whole(0, 1) == 1)
    plan["shard"] = "node";
  if (experts) {
    plan["expert"] = draw.of(std::vector<int>{1, 2, 4, 8});
    plan["expert_tensor"] = draw.of(ways);
  }
  job["parallel"] = plan;
  job["micro_batch"] = draw.of(std::vector<int>{1, 2, 3, 4, 8});
  job["recompute"] = draw.of(std::vector<std::string>{"none", "selective", "full"});
  return job;
}

Json llama(int gpus)
{
  return {{"model", "llama-3-8b"}, {"framework", "megatron"}, {"precision", "bf16"},
          {"gpus", gpus},          {"global_batch", 64},      {"sequence", 8192}};
}

} // namespace

TEST_CASE("a tuned plan has the rate, interval and memory of its prediction", "[tune][long]")
{
  for (const int gpus : {8, 16}) {
    CAPTURE(gpus);
    const TuneAnswer answer = tune(point_of(llama(gpus)), 3, {});
    REQUIRE(answer.best.size() == 3);
    CHECK(answer.tried >= 3);
    double last = answer.best.front().tokens_per_s.median;
    const Json told_of = written(answer);
    for (const Json& plan : told_of.at("plans")) {
      Json job = llama(gpus);
      for (const char* key : {"parallel", "micro_batch", "recompute"})
        job[key] = plan.at(key);
      const JobResult same = run_point(point_of(job), {}).jobs.front();
      const Json& told = plan.at("tokens_per_s");
      const Range tokens = same.tokens_per_s.value();
      CHECK_THAT(told.at("median").get<double>(), test::is(tokens.median));
      CHECK_THAT(told.at("low").get<double>(), test::is(tokens.low));
      CHECK_THAT(told.at("high").get<double>(), test::is(tokens.high));
      CHECK(tokens.high > 1.05 * tokens.low);
      CHECK_THAT(plan.at("device_memory_byte").get<double>(), test::is(same.memory.needed.value()));
      CHECK(same.memory.needed <= same.memory.available);
      CHECK(tokens.median <= last);
      last = tokens.median;
    }
    CHECK(answer.best.front().loses.empty());
  }
}

TEST_CASE("a job without a plan is tuned where its batch is too small for data parallelism",
          "[tune][long]")
{
  Json job = llama(16);
  job["global_batch"] = 8; // for 16 ranks
  const TuneAnswer answer = tune(point_of(job), 1, {});
  REQUIRE(answer.best.size() == 1);
  const models::ParallelPlan& plan = answer.best.front().plan;
  CHECK(plan.tensor * plan.context * plan.pipeline >= 2);
}

TEST_CASE("what a file says of a plan that cannot run does not matter", "[tune][long]")
{
  Json job = llama(16);
  job["global_batch"] = 16;
  const TunedPlan best = tune(point_of(job), 1, {}).best.at(0);
  for (const char* plan :
       {"{}", R"({"tensor": 3})", R"({"zero": 1, "shard": "node"})", R"({"expert": 3})",
        R"({"pipeline": 5})", R"({"pipeline": 2, "first_stage_layers": 40})"}) {
    CAPTURE(plan);
    job["parallel"] = Json::parse(plan);
    const Point point = point_of(job);
    const TunedPlan same = tune(point, 1, {}).best.at(0);
    CHECK(plan_name(same.plan, same.micro_batch, same.recompute, same.recompute_layers) ==
          plan_name(best.plan, best.micro_batch, best.recompute, best.recompute_layers));
    CHECK_THAT(same.tokens_per_s.median, test::is(best.tokens_per_s.median));
    CHECK_THAT(rate_of(tuned_experiment(point, same, "").at("jobs").at(0)),
               test::is(best.tokens_per_s.median));
  }
  for (const char* recompute : {"none", "full"}) {
    job["recompute"] = recompute;
    job["recompute_layers"] = 99;
    CHECK_THAT(tune(point_of(job), 1, {}).best.at(0).tokens_per_s.median,
               test::is(best.tokens_per_s.median));
  }
  job.erase("recompute");
  job.erase("recompute_layers");
  job["micro_batch"] = 3;
  CHECK_THAT(tune(point_of(job), 1, {}).best.at(0).tokens_per_s.median,
             test::is(best.tokens_per_s.median));
  // What is wrong beside it is said of the file.
  job["precision"] = "fp61";
  CHECK_THROWS_WITH(tune(point_of(job), 1, {}), Contains("test:1:"));
}

TEST_CASE("every plan takes as many samples a step as the file's, told by replica or in all",
          "[tune][long]")
{
  Json told = llama(16);
  told.erase("global_batch");
  told["batch_per_gpu"] = 4;
  told["parallel"] = {{"tensor", 2}, {"zero", 1}};
  Json all = told;
  all.erase("batch_per_gpu");
  all["global_batch"] = 32; // 4 on each of 8 replicas
  const auto plans = [](const Json& job, int top) { return tune(point_of(job), top, {}).best; };
  const auto few = plans(told, 1);
  const auto many = plans(told, 30);
  CHECK_THAT(few.at(0).tokens_per_s.median, test::is(many.at(0).tokens_per_s.median));
  CHECK_THAT(few.at(0).tokens_per_s.median, test::is(plans(all, 1).at(0).tokens_per_s.median));
  for (const TunedPlan& plan : many) {
    const Json job = tuned_experiment(point_of(told), plan, "").at("jobs").at(0);
    CHECK_FALSE(job.contains("batch_per_gpu"));
    CHECK(job.at("global_batch") == 32);
  }
}

TEST_CASE("sequences that no GPU holds alone are shared", "[tune][long]")
{
  Json job = llama(16);
  job["framework"] = "nemo"; // the older Megatron-LM shares none
  job["sequence"] = 131072;
  job["global_batch"] = 4;
  const TuneAnswer answer = tune(point_of(job), 3, {});
  REQUIRE(!answer.best.empty());
  CHECK(answer.best.front().plan.context > 1);
  CHECK_THAT(tune_text(answer), Contains("context"));
}

TEST_CASE("no plan is proposed that the framework does not have", "[tune][many]")
{
  std::set<std::string> found;
  for (const char* framework : {"torchtitan", "deepspeed", "megatron", "pytorch-fsdp", "nemo"}) {
    CAPTURE(framework);
    Json job = llama(16);
    job["framework"] = framework;
    job["sequence"] = 32768;
    job["global_batch"] = 16;
    const TuneAnswer answer = tune(point_of(job), 6, {});
    REQUIRE(!answer.best.empty());
    for (const auto& it : answer.best) {
      const models::ParallelPlan& plan = it.plan;
      const std::string name = framework;
      if (plan.context > 1)
        found.insert(name + " context");
      if (plan.pipeline > 1)
        found.insert(name + " pipeline");
      found.insert(name + " zero " + std::to_string(plan.zero));
      CHECK((name != "torchtitan" || plan.zero > 1));
      CHECK((name != "megatron" || (plan.zero == 1 && plan.context == 1)));
      CHECK((name != "pytorch-fsdp" || (plan.zero > 1 && plan.pipeline == 1)));
      if (name == "deepspeed") {
        CHECK(plan.virtual_stages == 1);
        CHECK(plan.context_heads == plan.context);
      }
    }
  }
  for (const char* way : {"torchtitan zero 2", "torchtitan zero 3", "deepspeed zero 1",
                          "deepspeed context", "megatron pipeline", "nemo context", "nemo zero 3"})
    CHECK(found.count(way) == 1);
}

TEST_CASE("a plan that the framework does not have is predicted, and that is told", "[tune]")
{
  const auto told = [](const char* framework, int zero) {
    Json job = llama(8);
    job["framework"] = framework;
    job["parallel"] = {{"zero", zero}};
    RunOptions options;
    options.uncertainty.method = UncertaintyMethod::steps;
    for (const std::string& warning : run_point(point_of(job), options).warnings)
      if (warning.find("what it would take if it had") != std::string::npos)
        return warning;
    return std::string();
  };
  CHECK_THAT(told("torchtitan", 1), Contains("has no ZeRO 1 (it has 2, 3)"));
  CHECK(told("torchtitan", 2) == "");
  CHECK(told("nemo", 1) == "");
}

TEST_CASE("weights are shared within nodes where that is quicker, whatever the job said",
          "[tune][long]")
{
  Json job = llama(32);
  job["framework"] = "torchtitan";
  job["parallel"] = {{"zero", 3}, {"shard", "node"}};
  const TuneAnswer answer = tune(point_of(job), 1, {});
  REQUIRE(answer.best.size() == 1);
  const Json plan = written(answer).at("plans")[0];
  for (const char* key : {"parallel", "micro_batch", "recompute", "recompute_layers"})
    if (plan.contains(key))
      job[key] = plan.at(key);
  CHECK(rate_of(job) == Approx(answer.best.front().tokens_per_s.median).epsilon(1e-3));
}

TEST_CASE("the optimizer's state is shared within nodes where that is quicker, and none else can",
          "[tune][long]")
{
  Json job = {{"model", "llama-3.2-1b"}, {"framework", "nemo"}, {"precision", "bf16"}, {"gpus", 16},
              {"global_batch", 64},      {"sequence", 4096}};
  const auto best_of = [&] {
    Json json = {
        {"cluster", {{"platform", "r750xa"}}}, {"stack", {{"network", "ipoib"}}}, {"jobs", {job}}};
    return tune({{}, parse_document(json.dump(), "test"), nullptr}, 1, {}).best.at(0).plan;
  };
  const models::ParallelPlan best = best_of();
  CHECK(best.zero == 1);
  CHECK(best.shard == models::ZeroShard::node);
  job["framework"] = "megatron"; // of 2021, whose optimizer is shared among all
  CHECK(best_of().shard == models::ZeroShard::all);
}

TEST_CASE("parts of all layers are made anew where that is less than some layers altogether",
          "[tune][long]")
{
  Json job = {{"model", "llama-3-70b"}, {"framework", "torchtitan"},
              {"precision", "bf16"},    {"gpus", 64},
              {"global_batch", 64},     {"sequence", 8192}};
  const TunedPlan best = tune(point_of(job), 1, {}).best.at(0);
  job["parallel"] = {{"tensor", 2}, {"sequence_parallel", true}, {"zero", 3}};
  job["micro_batch"] = 1;
  for (const char* recompute : {"selective", "full"}) {
    job["recompute"] = recompute;
    CHECK(rate_of(job) <= 1.0001 * best.tokens_per_s.median);
  }
}

TEST_CASE("of a plan that must repeat no more layers are made anew than memory asks for",
          "[tune][long]")
{
  // 13 billion parameters on four GPUs of 80 GB: activations of all layers do not fit.
  const Json job = {{"model", "llama-2-13b"}, {"framework", "nemo"},
                    {"precision", "bf16"},    {"gpus", 4},
                    {"global_batch", 4},      {"sequence", 32768}};
  const TuneAnswer answer = tune(point_of(job), 1, {});
  REQUIRE(answer.best.size() == 1);
  const TunedPlan& best = answer.best.front();
  REQUIRE(best.recompute == "full");
  REQUIRE(best.recompute_layers);
  Json with = job;
  with["parallel"] = written(answer)["plans"][0]["parallel"];
  with["micro_batch"] = best.micro_batch;
  with["recompute"] = "full";
  with["recompute_layers"] = written(answer)["plans"][0]["recompute_layers"];
  CHECK(rate_of(with) == Approx(best.tokens_per_s.median).epsilon(1e-3));
  with["recompute_layers"] = *best.recompute_layers - 1;
  CHECK(rate_of(with) == 0); // does not fit
  with.erase("recompute_layers");
  CHECK(rate_of(with) < 0.99 * best.tokens_per_s.median);
}

TEST_CASE("a tuned plan keeps the job's way to share a sequence", "[tune][long]")
{
  const auto ways = [](const Json& parallel) {
    const Json job = {{"model", "llama-3-8b"}, {"framework", "nemo"},
                      {"precision", "bf16"},   {"gpus", 16},
                      {"global_batch", 8},     {"sequence", 131072},
                      {"parallel", parallel},  {"recompute", "full"}};
    return written(tune(point_of(job), 1, {}))["plans"][0]["parallel"];
  };
  const Json heads = ways({{"tensor", 2}, {"context", 4}, {"context_heads", 4}});
  REQUIRE(heads["context"] > 1);
  CHECK(heads["context_heads"] == std::gcd(heads["context"].get<int>(), 4));
  const Json gathered = ways({{"tensor", 2}, {"context", 8}, {"context_exchange", "all-gather"}});
  REQUIRE(gathered["context"] > 1);
  CHECK(gathered["context_exchange"] == "all-gather");
  CHECK_FALSE(ways({{"tensor", 2}, {"context", 8}}).contains("context_heads"));
}

namespace {

struct TuneCase {
  const char* model;
  const char* framework;
  int gpus, sequence, batch;
  bool experts;
};

void check_tuned(const std::vector<TuneCase>& cases, int draws, int least)
{
  for (const TuneCase& it : cases) {
    const Json job = {{"model", it.model}, {"framework", it.framework}, {"precision", "bf16"},
                      {"gpus", it.gpus},   {"global_batch", it.batch},  {"sequence", it.sequence}};
    CAPTURE(job.dump());
    const TuneAnswer answer = tune(point_of(job), 1, {});
    REQUIRE(answer.best.size() == 1);
    const double best = answer.best.front().tokens_per_s.median;
    test::Draw draw(7);
    int ran = 0;
    for (int i = 0; i < draws; ++i) {
      const Json drawn = drawn_plan(job, it.experts, draw);
      CAPTURE(drawn.dump());
      const double rate = rate_of(drawn);
      ran += rate > 0 ? 1 : 0;
      CHECK(rate <= 1.005 * best);
    }
    CHECK(ran >= least);
  }
}

} // namespace

TEST_CASE("no plan drawn at random beats the tuned one", "[tune][property][many]")
{
  check_tuned({{"llama-3-8b", "nemo", 16, 8192, 64, false},
               {"llama-3-8b", "torchtitan", 32, 8192, 64, false},
               {"llama-3-8b", "nemo", 16, 65536, 8, false},
               {"mixtral-8x7b", "nemo", 32, 4096, 128, true}},
              150, 10);
}

TEST_CASE("no plan of some beats the tuned one", "[tune][property][long]")
{
  check_tuned({{"llama-3-8b", "nemo", 16, 8192, 64, false}}, 30, 1);
}

TEST_CASE("what cannot be tuned is refused", "[tune][error]")
{
  const Json cnn = {{"model", "resnet50"}, {"framework", "pytorch-ddp"}, {"batch_per_gpu", 32}};
  CHECK_THROWS_WITH(tune(point_of(cnn), 1, {}), Contains("is no transformer"));
  Point two = point_of(llama(8));
  auto document = std::make_shared<Document>(*two.document);
  document->root["jobs"].push_back(cnn);
  document->root["jobs"][1]["name"] = "second";
  two.document = document;
  CHECK_THROWS_WITH(tune(two, 1, {}), Contains("are several"));
}

} // namespace foretrain::tune_test
