// What does not fit is never an answer: not the best of a sweep, not a passed check, told
// everywhere.
#include "experiments/answers/check.hpp"
#include "experiments/answers/comparisons.hpp"
#include "experiments/report/report_html.hpp"
#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_table.hpp"
#include "experiments/run/keep/judged.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::fits_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

// One of a sweep over micro-batches whose larger ones are faster: 80 GB hold the first two.
const char* const kExperiment = R"({
  "name": "memory", "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "gpt3-1.7b", "framework": "megatron", "precision": "bf16", "gpus": 8,
            "global_batch": 256, "sequence": 2048, "steps": 2}],
  "sweep": {"/jobs/0/micro_batch": [1, 4, 16]}%s})";

LoadedExperiment loaded(const std::string& rest = "")
{
  std::string text = kExperiment;
  text.replace(text.find("%s"), 2, rest);
  return load_experiment(parse_document(text, "memory.json"), {}, {});
}

Prediction predicted(const LoadedExperiment& experiment)
{
  PredictOptions options;
  options.jobs = 1;
  return predict(experiment, options, [](int, int) {});
}

std::string states(const LoadedExperiment& experiment)
{
  std::string text;
  for (const CheckCase& it : check(experiment, predicted(experiment), {}))
    text += std::string(text.empty() ? "" : " ") + state_name(it.state);
  return text;
}

} // namespace

TEST_CASE("The best of a sweep is the best of what fits", "[fits][long]")
{
  const ExperimentResult result = predicted(loaded()).result;
  const auto job = [&](std::size_t i) -> const JobResult& {
    return result.points.at(i).jobs.at(0);
  };
  REQUIRE(job(0).memory.fits());
  REQUIRE(job(1).memory.fits());
  REQUIRE_FALSE(job(2).memory.fits());
  REQUIRE(judged_rate(job(2)) > judged_rate(job(1))); // the trap
  REQUIRE(judged_rate(job(1)) > judged_rate(job(0)));
  const Report report(result);
  const auto told = answers(report);
  REQUIRE(told.size() == 1);
  CHECK(told[0].best->point == 1);
  CHECK_THAT(report_table(result), Contains("does not fit") && Contains("1 of 3 do not fit"));
  CHECK_THAT(report_html(result), Contains("train (does not fit)"));
  REQUIRE(!result.comparisons.empty());
  for (const PointComparison& comparison : result.comparisons) {
    CHECK(comparison.point == 1);
    CHECK(comparison.than == 0);
  }
}

TEST_CASE("Where nothing fits the headline says so", "[fits][long]")
{
  ExperimentResult result = predicted(loaded()).result;
  result.points.erase(result.points.begin(), result.points.begin() + 2);
  const Report one(result);
  CHECK_THAT(answers(one)[0].headline, Contains("It does not fit: "));
  CHECK_THAT(answers(one)[0].sentences.front(), Contains("It does not fit as it is: about"));
}

TEST_CASE("A check fails for what does not fit unless the file says that it may", "[fits][long]")
{
  CHECK(states(loaded()) == "passed failed");
  const std::string expected =
      R"("point": {"/jobs/0/micro_batch": 16}, "quantity": "/fits", "is": )";
  CHECK(states(loaded(R"(, "expect": [{)" + expected + "false}]")) == "passed passed");
  CHECK(states(loaded(R"(, "expect": [{)" + expected + "true}]")) == "passed failed");
  CHECK_THROWS_WITH(loaded(R"(, "expect": [{"quantity": "/fits", "is": true, "than_job": "x"}])"),
                    Contains("compares no numbers: 'is' goes without 'than' and 'than_job'"));
}

TEST_CASE("Everything that follows throughput has its probability in a check",
          "[fits][check][many]")
{
  const Json base = written(predicted(loaded()).result.points.at(0).jobs.at(0));
  for (const std::string quantity : {"/throughput_samples_per_s", "/step_time_s", "/tokens_per_s",
                                     "/tokens_per_s/median", "/tokens_per_s_per_gpu", "/mfu",
                                     "/mfu/full", "/mfu/causal", "/model_tflops_per_gpu/full"}) {
    CAPTURE(quantity);
    const Json& found = base.at(Json::json_pointer(quantity));
    const double median =
        found.is_object() ? found.at("median").get<double>() : found.get<double>();
    // A bound a little beyond the median is broken as likely as not.
    const LoadedExperiment experiment = loaded(
        fmt::format(R"(, "expect": [{{"point": {{"/jobs/0/micro_batch": 1}}, "quantity": "{}",
                               "at_least": {}}}, {{"quantity": "/fits", "is": false,
                               "point": {{"/jobs/0/micro_batch": 16}}}}])",
                    quantity, 1.001 * median));
    CHECK(states(experiment) == "passed undecided passed");
  }
}

} // namespace foretrain::fits_test
