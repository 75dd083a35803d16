// A tuned plan is what the same plan is predicted to be.
#include "experiments/answers/tune.hpp"

#include "experiments/run/scenario.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Point point_of(const Json& job)
{
  Json json = {{"cluster", {{"platform", "hgx-h100"}}}, {"jobs", {job}}};
  return {{}, parse_document(json.dump(), "test"), nullptr};
}

Json llama(int gpus)
{
  return {{"model", "llama-3-8b"}, {"framework", "megatron"}, {"precision", "bf16"},
          {"gpus", gpus},          {"global_batch", 64},      {"sequence", 8192}};
}

} // namespace

TEST_CASE("a tuned plan has the rate, interval and memory of its prediction", "[tune]")
{
  for (const int gpus : {8, 16}) {
    CAPTURE(gpus);
    const TuneAnswer answer = tune(point_of(llama(gpus)), 3, {});
    REQUIRE(answer.best.size() == 3);
    CHECK(answer.tried >= 3);
    double last = answer.best.front().tokens_per_s.median;
    const Json told_of = tune_json(answer);
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
