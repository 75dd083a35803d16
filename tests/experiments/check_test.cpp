// Experiments as tests: what fails, what nobody can tell, and the formats that CI reads.
#include "experiments/answers/check.hpp"

#include "experiments/answers/expected_quantities.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/report/report_check.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/told.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace foretrain::check_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

JobResult job(double rate, double spread)
{
  return test::told_job({{"gpus", 8},
                         {"throughput_samples_per_s", {{"median", rate}}},
                         {"step_time_s", {{"median", 1000 / rate}}},
                         {"speedup", 7.5},
                         {"bottleneck", {{"resource", "gpu"}}},
                         {"uncertainty", {{"run_to_run", spread}}}});
}

LoadedExperiment experiment(const std::string& expect)
{
  LoadedExperiment loaded;
  auto document = parse_document(
      R"({"name": "e", "cluster": {"platform": "c4140-k-v100-sxm2"},
 "jobs": [{"model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 8}],
 "expect": [)" +
          expect + "]}",
      "e.json");
  loaded.document = document;
  loaded.points.push_back({{}, document, nullptr});
  loaded.spec = read_point(loaded.points.front());
  return loaded;
}

Prediction prediction(const LoadedExperiment& of, double rate, double spread)
{
  Prediction prediction;
  prediction.result.experiment = "e";
  prediction.result.version = "1";
  prediction.result.input = of.document->root;
  prediction.result.points.emplace_back().jobs.push_back(job(rate, spread));
  return prediction;
}

CheckState state(const std::string& expect, double rate, double spread,
                 const CheckOptions& options = {})
{
  const auto loaded = experiment(expect);
  return check(loaded, prediction(loaded, rate, spread), options).back().state;
}

const char* const kAtLeast = R"({"quantity": "/throughput_samples_per_s", "at_least": 1000})";

} // namespace

TEST_CASE("An expectation fails when it is violated with the confidence asked for")
{
  CHECK(state(kAtLeast, 1100, 0.02) == CheckState::passed);
  CHECK(state(kAtLeast, 900, 0.02) == CheckState::failed);
  CHECK(state(kAtLeast, 995, 0.02) == CheckState::undecided);
  CHECK(state(kAtLeast, 1005, 0.02) == CheckState::undecided);
  CHECK(state(kAtLeast, 995, 0) == CheckState::failed); // nothing varies
  CheckOptions strict;
  strict.strict = true;
  CHECK(state(kAtLeast, 995, 0.02, strict) == CheckState::failed);
  CHECK(state(R"({"quantity": "/speedup", "at_least": 8})", 1000, 0.001) == CheckState::failed);
  CHECK(state(R"({"quantity": "/bottleneck/resource", "contains": "ib0"})", 1000, 0.02) ==
        CheckState::failed);
}

TEST_CASE("What can only cost makes one side of a quantity unlikely")
{
  const auto state_of = [](const std::string& quantity, const std::string& bound, double value) {
    const auto loaded = experiment(R"({"quantity": ")" + quantity + R"(", ")" + bound +
                                   "\": " + std::to_string(value) + "}");
    Prediction made = prediction(loaded, 1000, 0);
    Uncertainty& uncertainty = *made.result.points[0].jobs[0].uncertainty;
    uncertainty.parameters = uncertainty.slower.emplace(0.2);
    uncertainty.faster = 0.01;
    return check(loaded, made, {}).back().state;
  };
  // 5 % above what is told is five deviations away, 5 % below it a quarter of one.
  CHECK(state_of("/throughput_samples_per_s", "at_least", 1050) == CheckState::failed);
  CHECK(state_of("/throughput_samples_per_s", "at_most", 1050) == CheckState::passed);
  CHECK(state_of("/throughput_samples_per_s", "at_least", 950) == CheckState::undecided);
  CHECK(state_of("/throughput_samples_per_s", "at_most", 950) == CheckState::undecided);
  CHECK(state_of("/step_time_s", "at_most", 0.95) == CheckState::failed); // of 1 s
  CHECK(state_of("/step_time_s", "at_most", 1.05) == CheckState::undecided);
}

TEST_CASE("What --set expects is about points that are there")
{
  const auto loaded = [](const std::vector<std::string>& set) {
    return load_experiment(std::make_shared<Document>(*experiment(kAtLeast).document), set, {});
  };
  CHECK_FALSE(is_narrowed(*loaded({}).document));
  CHECK_FALSE(is_narrowed(*loaded({"/expect/0/at_least=3"}).document));
  CHECK(is_narrowed(*loaded({"/expect/0/at_least=3", "/jobs/0/gpus=2"}).document));
}

TEST_CASE("One GPU is exactly as fast as itself")
{
  const auto with_gpus = [](int gpus) {
    const auto loaded = experiment(R"({"quantity": "/speedup", "at_most": 1.02})");
    Prediction made = prediction(loaded, 1000, 0.02);
    JobResult& one = made.result.points[0].jobs[0];
    one.gpus = gpus;
    one.speedup = 1;
    return check(loaded, made, {}).back().state;
  };
  CHECK(with_gpus(1) == CheckState::passed);
  CHECK(with_gpus(2) == CheckState::undecided);
}

TEST_CASE("Ratios of runs are judged by their own ranges")
{
  const std::string quantity = GENERATE("/speedup", "/slowdown");
  const auto with_deviation = [&](double deviation) { // of the logarithm
    const auto loaded = experiment(R"({"quantity": ")" + quantity + R"(", "at_least": 7.5})");
    Prediction made = prediction(loaded, 1000, 0.02);
    JobResult& job = made.result.points[0].jobs[0];
    job.gpus = 8;
    job.speedup = 7.8;
    job.slowdown = 7.8;
    const double distance = 1.6448536 * deviation;
    (quantity == "/speedup" ? job.speedup_range : job.slowdown_range) =
        Range{7.8, 7.8 * std::exp(-distance), 7.8 * std::exp(distance), 0.9};
    return check(loaded, made, {}).back().state;
  };
  // Violated with one tenth where the bound is 1.2816 standard deviations away.
  const double tenth = std::log(7.8 / 7.5) / 1.2815516;
  CHECK(with_deviation(0.98 * tenth) == CheckState::passed);
  CHECK(with_deviation(1.02 * tenth) == CheckState::undecided);
}

TEST_CASE("A baseline is kept by noise and broken by a regression")
{
  const auto directory =
      std::filesystem::temp_directory_path() / ("foretrain-check-" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  const auto loaded = experiment(kAtLeast);
  std::ofstream(baseline_file(directory.string(), "e"))
      << written(prediction(loaded, 2000, 0.01).result).dump();
  CheckOptions options;
  options.baseline = directory.string();
  const auto last = [&](double rate) {
    return check(loaded, prediction(loaded, rate, 0.01), options).back().state;
  };
  CHECK(last(1980) == CheckState::passed);
  CHECK(last(2500) == CheckState::passed);
  CHECK(last(1895) == CheckState::undecided);
  CHECK(last(1700) == CheckState::failed);
  Json damaged = written(prediction(loaded, 2000, 0.01).result);
  damaged["points"][0]["jobs"][0]["throughput_samples_per_s"]["median"] = -2000;
  std::ofstream(baseline_file(directory.string(), "e")) << damaged.dump(1);
  CHECK_THROWS_WITH(last(2000),
                    Contains("/points/0/jobs/0/throughput_samples_per_s/median must not be "
                             "negative, got -2000"));
  std::filesystem::remove_all(directory);
  CHECK(last(2000) == CheckState::undecided); // there is none
  CHECK(baseline_file("d", "../a/b") == "d/_.._a_b.json");
}

TEST_CASE("What CI reads holds hostile texts as texts")
{
  const std::vector<CheckedFile> files{
      {"a.json",
       "<script>",
       {{"run", CheckState::passed, "", ""},
        {"x # y\n::error::z", CheckState::failed, "50 % <&\"\x01\xEF\xBF\xBE\xEF\xBF\xBF", "7"},
        {"load", CheckState::error, "broken\n  hint: mend", ""},
        {"near", CheckState::undecided, "by little", "3"}},
       1.5}};
  const std::string junit = check_junit(files);
  CHECK_THAT(junit, Contains("tests=\"4\" failures=\"1\" errors=\"1\""));
  CHECK_THAT(junit, Contains("classname=\"&lt;script&gt;\"") && Contains("50 % &lt;&amp;") &&
                        !Contains("\x01") && !Contains("\xEF\xBF") && Contains("line=\"7\""));
  CHECK_THAT(junit, Contains("name=\"load\" file=\"a.json\"><error message=\"broken") &&
                        Contains("hint: mend</error></testcase>") &&
                        Contains("<failure message=\"50 % &lt;") && Contains("</failure>") &&
                        Contains("><system-out>undecided: by little</system-out></testcase>"));
  const std::string tap = check_tap(files);
  CHECK_THAT(tap,
             Contains("TAP version 13\nok 1 - a.json run\nnot ok 2 - a.json:7 x . y ::error::z"));
  CHECK_THAT(tap, Contains("ok 4 - ") && Contains("\n1..4\n"));
  const std::string github = check_github(files);
  CHECK_THAT(github,
             Contains("::error file=a.json,line=7,title=x # y%0A%3A%3Aerror%3A%3Az::50 %25 "));
  CHECK_THAT(github, Contains("::notice file=a.json,line=3"));
  CHECK(std::count(github.begin(), github.end(), '\n') == 3);
  CHECK_THAT(check_table(files, {}), Contains("1 of 4 passed, 1 too close to tell\n") &&
                                         Contains("load: broken; hint: mend"));
  const Json json = check_json(files);
  CHECK(json.at("failed") == 1);
  CHECK(json.at("files")[0].at("cases")[1].at("line") == 7);
}

TEST_CASE("Experiments below a directory are found, other files left alone")
{
  const auto directory =
      std::filesystem::temp_directory_path() / ("foretrain-below-" + std::to_string(getpid()));
  std::filesystem::create_directories(directory / "deep");
  std::ofstream(directory / "b.json") << R"({"jobs": [], "cluster": {}})";
  std::ofstream(directory / "deep" / "a.json") << R"({"format": "foretrain.experiment/1"})";
  std::ofstream(directory / "plan.json") << R"({"format": "foretrain.plan/1"})";
  std::ofstream(directory / "broken.json") << "{";
  const auto files = experiments_below({directory.string(), "given.json"});
  REQUIRE(files.size() == 4);
  CHECK_THAT(files[0], Catch::Matchers::EndsWith("b.json"));
  CHECK_THAT(files[1], Catch::Matchers::EndsWith("broken.json")); // told, not skipped
  CHECK(files[3] == "given.json");
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  CHECK_THROWS_AS(experiments_below({directory.string()}), UsageError);
  std::filesystem::remove_all(directory);
}

TEST_CASE("what no job's result has is misspelt, and told before anything runs", "[check]")
{
  const auto expecting = [](const std::string& quantity) {
    return experiment("{\"quantity\": \"" + quantity + "\", \"at_least\": 1}");
  };
  for (const char* quantity : {"/slowdown", "/step_time_s/median", "/time_s/compute", "/fits",
                               "/busiest/3/utilisation", "/mfu/full", "/training_s/total"}) {
    CAPTURE(quantity);
    CHECK_NOTHROW(check_expected_quantities(expecting(quantity)));
  }
  for (const char* quantity : {"/step_time_s/mean", "/busiest/first/utilisation", "/fits/median"}) {
    CAPTURE(quantity);
    CHECK_THROWS_AS(check_expected_quantities(expecting(quantity)), ConfigError);
  }
  CHECK_THROWS_WITH(predict(expecting("/thoughput_samples_per_s"), {}, {}),
                    Contains("e.json:3:26: error: /expect/0/quantity is not in a job's results: "
                             "'/thoughput_samples_per_s'") &&
                        Contains("did you mean '/throughput_samples_per_s'?"));
}

} // namespace foretrain::check_test
