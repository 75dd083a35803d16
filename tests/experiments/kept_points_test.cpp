// Points that somebody keeps are not run again, and those that he can no longer read are.
#include "experiments/answers/predict.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "experiments/spec/experiment.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <set>

namespace foretrain::kept_points_test {

using namespace foretrain::experiments;

namespace {

LoadedExperiment sweep(const std::string& entries)
{
  return load_experiment(parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2"},
    "jobs": [{"model": "alexnet", "framework": "pytorch-ddp", "batch_per_gpu": 64}],
    "sweep": {)" + entries + "}}",
                                        "test"),
                         {});
}

std::string key_of(const Point& point)
{
  return settings_json(point.settings).dump();
}

} // namespace

TEST_CASE("points that are kept are taken from there, damaged ones are run again", "[sweep]")
{
  const LoadedExperiment experiment = sweep(R"("/jobs/0/gpus": [1, 2, 4])");
  std::map<std::string, Json> kept;
  PredictOptions options;
  options.uncertainty.method = UncertaintyMethod::steps;
  options.keeper.key_of = &key_of;
  int put = 0;
  options.keeper.put = [&](const std::string& key, const Json& json) {
    ++put;
    kept[key] = json;
  };
  const auto ask = [&] {
    options.keeper.holds = [keys = kept](const std::string& key) { return keys.contains(key); };
    options.keeper.find = [&kept](const std::string& key) -> std::optional<Json> {
      return kept.at(key).is_null() ? std::nullopt : std::optional(kept.at(key));
    };
    return predict(experiment, options, [](int, int) {});
  };
  const Prediction first = ask();
  CHECK(first.known == 0);
  REQUIRE(kept.size() == 3);
  const Json whole = written(first.result);
  CHECK(ask().known == 3);
  CHECK(put == 3);
  kept.erase(kept.begin());                 // one is gone
  std::next(kept.begin())->second = Json(); // another one can't be read
  const Prediction again = ask();
  CHECK(again.known == 1);
  CHECK(put == 5); // those two alone are run
  CHECK(again.damaged == 1);
  CHECK(again.status == 0);
  CHECK(written(again.result) == whole);
  kept.begin()->second = {{"settings", 3}}; // no point that a run can have written
  const Prediction wrong = ask();
  CHECK(wrong.damaged == 1);
  CHECK(written(wrong.result) == whole);
}

TEST_CASE("of a large sweep each value of each entry is read before anything runs", "[sweep]")
{
  const auto list = [](int count, const char* last) {
    std::string text = "[64";
    for (int i = 1; i + 1 < count; ++i)
      text += ", " + std::to_string(64 + i);
    return text + ", " + last + "]";
  };
  const auto wide = [&](const char* batch, const char* seed, const char* steps) {
    return sweep("\"/jobs/0/batch_per_gpu\": " + list(11, batch) + ", \"/jobs/0/steps\": " +
                 list(10, steps) + ", \"/jobs/0/warmup_steps\": " + list(10, seed));
  };
  CHECK(wide("99", "99", "99").points.size() == 1100);
  CHECK_THROWS_AS(wide("0", "99", "99"), ConfigError);
  CHECK_THROWS_AS(wide("99", "-1", "99"), ConfigError);
  CHECK_THROWS_AS(wide("99", "99", "0"), ConfigError);
}

} // namespace foretrain::kept_points_test
