// Anchors are measurements of the file as it stands, through every door by which it is changed.
#include "experiments/answers/compare.hpp"
#include "experiments/answers/explain_swaps.hpp"
#include "experiments/answers/plan.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/text.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

namespace foretrain::anchored_changes_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

std::string job(const std::string& anchor, const std::string& model = "resnet50")
{
  return fmt::format(R"({{"cluster": {{"platform": "c4140-v100-sxm2"}}, "jobs": [{{"model": "{}",
    "framework": "tensorflow-horovod", "precision": "fp32", "batch_per_gpu": 128, "gpus": 1{}}}]}})",
                     model, anchor);
}

const std::string kAnchored = job(R"(, "anchor": {"samples_per_s": 400})");

LoadedExperiment load(const std::string& text, const std::vector<std::string>& overrides = {})
{
  return load_experiment(parse_document(text, "test"), overrides, {});
}

double rate(const LoadedExperiment& experiment, std::size_t point = 0)
{
  return run_point(experiment.points.at(point), {}).jobs.front().throughput.median;
}

Range range(const LoadedExperiment& experiment)
{
  return run_point(experiment.points.front(), {}).jobs.front().throughput;
}

ResolvedJob resolved(const LoadedExperiment& experiment)
{
  return resolve(experiment.points.front()).jobs.front();
}

} // namespace

TEST_CASE("another batch has the kernels of the one that was measured",
          "[anchor][closed-form][long]")
{
  const double told = rate(load(job(R"(, "anchor": {"samples_per_s": 400, "batch_per_gpu": 128})"),
                                {"/jobs/0/batch_per_gpu=16"}));
  CHECK(told < 395);
  CHECK_THAT(rate(load(kAnchored, {"/jobs/0/batch_per_gpu=16"})), test::is(told));
  const LoadedExperiment sweep =
      load(kAnchored, {R"(/sweep={"/jobs/0/batch_per_gpu": [16, 128]})"});
  CHECK_THAT(rate(sweep, 0), test::is(told));
  CHECK_THAT(rate(sweep, 1), test::is(rate(load(kAnchored))));
}

TEST_CASE("what explain would swap is off by the factor that the file has", "[anchor][long]")
{
  const Point point = load(kAnchored).points.front();
  const ResolvedExperiment here = resolve(point);
  const std::vector<double> base = throughputs_with(here, {}, 1, {});
  const Json other = "tensorflow-2-xla-horovod";
  const auto swaps = swapped(point, here, base, {}).front();
  const auto swap = std::ranges::find_if(swaps, [&](const SwapGain& it) {
    return it.pointer == "/jobs/0/framework" && it.to == other;
  });
  REQUIRE(swap != swaps.end());
  const LoadedExperiment set = load(kAnchored, {"/jobs/0/framework=" + other.dump()});
  const double rate = throughputs_with(resolve(set.points.front()), {}, 1, {}).front();
  CHECK(swap->gain == Approx(rate / base.front() - 1).epsilon(1e-9));
  CHECK(std::abs(swap->gain) > 0.05);
  const auto warnings = resolve(set.points.front()).jobs.front().warnings;
  CHECK_THAT(joined(warnings), Contains("extrapolates") && Contains("Horovod"));
}

TEST_CASE("what an interval varies reaches the anchor's run, too", "[anchor]")
{
  std::string written = job(R"(, "anchor": {"samples_per_s": 400, "batch_per_gpu": 128})");
  const std::string batch = R"("batch_per_gpu": 128, "gpus")";
  written.replace(written.find(batch), batch.size(), R"("batch_per_gpu": 16, "gpus")");
  const Range told = range(load(written)); // nothing was changed
  const Range changed = range(load(kAnchored, {"/jobs/0/batch_per_gpu=16"}));
  CHECK(changed.low == Approx(told.low).epsilon(1e-6));
  CHECK(changed.high == Approx(told.high).epsilon(1e-6));
  CHECK(told.low < 0.99 * told.median);
}

TEST_CASE("another GPU, precision or model has the same factor of its own kernels",
          "[anchor][closed-form]")
{
  const double factor = resolved(load(kAnchored)).anchor_factor;
  for (const char* change :
       {"/cluster/platform=dgx-a100", "/jobs/0/precision=fp16", "/jobs/0/model=vgg16"}) {
    const ResolvedJob anchored = resolved(load(kAnchored, {change}));
    const ResolvedJob computed = resolved(load(job(""), {change}));
    CHECK_THAT(anchored.anchor_factor, test::is(factor));
    CHECK_THAT(anchored.profile.computed() / computed.profile.computed(), test::is(factor));
    REQUIRE(!anchored.warnings.empty());
    CHECK_THAT(anchored.warnings.front(), Contains("extrapolates") && Contains("V100-SXM2"));
  }
}

TEST_CASE("who changes the anchor too says what is measured there", "[anchor]")
{
  const LoadedExperiment own =
      load(kAnchored, {"/cluster/platform=dgx-a100", "/jobs/0/anchor/samples_per_s=700"});
  CHECK(rate(own) == Approx(700).epsilon(0.01));
  CHECK(resolved(own).warnings.empty());
  const LoadedExperiment plain =
      load(job(R"(, "anchor": {"samples_per_s": 700})"),
           {"/cluster/platform=dgx-a100", "/jobs/0/anchor/samples_per_s=700.0"});
  CHECK(range(own).low == Approx(range(plain).low).epsilon(1e-6));
  CHECK(range(own).low > 0.93 * 700); // it is as sure as an anchor
  // More GPUs of the same job, or another place for it, are what the anchor is for.
  const ResolvedJob more = resolved(load(kAnchored, {"/jobs/0/gpus=4"}));
  CHECK(more.anchor_factor == resolved(load(kAnchored)).anchor_factor);
  CHECK(more.warnings.empty());
}

TEST_CASE("options of a plan leave the anchor where it was measured", "[anchor][plan][long]")
{
  const std::string plan = R"({"experiment": )" + kAnchored +
                           R"(, "goals": [{"throughput_at_least": 10}], "changes": [{"name": "gpu",
    "options": [{"name": "V100"}, {"name": "A100", "set": {"/cluster/platform": "dgx-a100"}}]}]})";
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("foretrain-anchored-{}.json", getpid());
  std::ofstream(path) << plan;
  const LoadedPlan loaded = load_plan(path.string(), {}, {});
  std::filesystem::remove(path);
  REQUIRE(loaded.experiment.points.size() == 2);
  CHECK_THAT(rate(loaded.experiment, 0), test::is(rate(load(kAnchored))));
  CHECK_THAT(rate(loaded.experiment, 1),
             test::is(rate(load(kAnchored, {"/cluster/platform=dgx-a100"}))));
}

TEST_CASE("a comparison says which side is extrapolated", "[anchor][compare]")
{
  const auto side = [](const std::vector<std::string>& overrides, const char* name) {
    const LoadedExperiment experiment = load(kAnchored, overrides);
    return side_of_prediction(experiment, predict(experiment, {}, [](int, int) {}).result, name);
  };
  const CompareSide here = side({}, "here"), there = side({"/cluster/platform=dgx-a100"}, "there");
  const CompareAnswer answer = compare(here, there, {});
  REQUIRE(answer.warnings.size() == 1);
  CHECK_THAT(answer.warnings.front(), Contains("B alone: ") && Contains("extrapolates"));
  CHECK(compare(there, there, {}).warnings.empty()); // both
}

} // namespace foretrain::anchored_changes_test
