// The same configuration gives the same number, and what cannot be meant is refused.
#include "experiments/spec/experiment.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace foretrain;
using namespace foretrain::experiments;
using Catch::Matchers::Contains;
using foretrain::test::run_text;

namespace {

const char* const kJob = R"({
  "cluster": {"platform": "c4140-k-v100-sxm2"},
  "jobs": [{"name": "a", "model": "resnet50", "framework": "tensorflow-horovod",
            "batch_per_gpu": 64, "gpus": 4}]})";

struct TemporaryExperiment {
  explicit TemporaryExperiment(const char* text)
      : path(std::filesystem::temp_directory_path() /
             ("foretrain-same-" + std::to_string(getpid()) + ".json"))
  {
    std::ofstream(path) << text;
  }
  ~TemporaryExperiment() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

const char* const kSweep = R"({
  "cluster": {"platform": "c4140-k-v100-sxm2"},
  "jobs": [{"model": "resnet50", "framework": "mxnet", "batch_per_gpu": 64}],
  "sweep": {"/stack/host": ["bare-metal", "container"]}})";

} // namespace

TEST_CASE("The name of a job changes no number", "[same]")
{
  const auto one = run_text(kJob);
  const auto other = run_text(kJob, {{"/jobs/0/name", "\"b\""}});
  CHECK(one.jobs[0].throughput.median == other.jobs[0].throughput.median);
  CHECK(one.jobs[0].throughput.low == other.jobs[0].throughput.low);
}

TEST_CASE("a setting that the sweep would undo is refused", "[same]")
{
  const TemporaryExperiment file(kSweep);
  CHECK_THROWS_WITH(load_experiment(file.path.string(), {"/stack={\"host\":\"vm\"}"}),
                    Contains("/stack/host"));
  CHECK(load_experiment(file.path.string(), {"/stack/host=vm"}).points.size() == 1);
  CHECK(load_experiment(file.path.string(), {"/stack/network=tcp"}).points.size() == 2);
}

TEST_CASE("A model that names no data set: what is assumed is told", "[same]")
{
  const char* const own = R"({
    "cluster": {"platform": "c4140-k-v100-sxm2"},
    "jobs": [{"model": {"input": {"features": 100}, "layers": [{"op": "linear", "out": 10}]},
              "framework": "mxnet", "batch_per_gpu": 64, "epochs": 3}]})";
  const auto result = run_text(own);
  REQUIRE(result.jobs[0].training);
  CHECK(result.jobs[0].training->samples > 0);
  CHECK_FALSE(result.jobs[0].training->dataset.empty());
  REQUIRE_FALSE(result.warnings.empty());
  CHECK_THAT(result.warnings.front(), Contains("names no data set"));
}

TEST_CASE("Inference runs forward passes only and tells the time of a batch", "[same]")
{
  const char* const text = R"({
    "cluster": {"platform": "c4140-v100-pcie"},
    "jobs": [{"model": "resnet50", "framework": "tensorrt", "mode": "inference",
              "precision": "fp32", "batch_per_gpu": 8}]})";
  const auto result = run_text(text);
  REQUIRE(result.jobs[0].latency);
  CHECK(result.jobs[0].latency->median * result.jobs[0].throughput.median == Approx(8));
  const auto bytes = run_text(text, {{"/jobs/0/precision", "\"int8\""}});
  CHECK(bytes.jobs[0].throughput.median > 2 * result.jobs[0].throughput.median);
  const auto two = run_text(text, {{"/jobs/0/gpus", "2"}});
  CHECK(two.jobs[0].throughput.median ==
        Approx(2 * result.jobs[0].throughput.median).epsilon(0.02));
  CHECK_THROWS_AS(
      run_text(text, {{"/jobs/0/precision", "\"int8\""}, {"/jobs/0/mode", "\"train\""}}),
      ConfigError);
}

TEST_CASE("Kernels of an engine follow each other as closely as the GPU lets them",
          "[same][closed-form]")
{
  const char* const text = R"({
    "cluster": {"platform": {"extends": "c4140-v100-pcie",
      "node": {"gpus": {"type": {"extends": "v100-pcie-16gb", "kernel_floor": "1 us"}}}}},
    "jobs": [{"model": {"input": {"features": 100}, "layers": [{"op": "linear", "out": 10}]},
              "framework": {"extends": "tensorrt", "step_variation": 0},
              "mode": "inference", "precision": "fp32", "batch_per_gpu": 8}]})";
  const std::string floor = "/cluster/platform/node/gpus/type/kernel_floor";
  const auto time = [&](const std::vector<std::pair<std::string, std::string>>& changes) {
    return run_text(text, changes).jobs[0].time.compute.value();
  };
  const double close = time({});
  CHECK(time({{floor, "\"3 us\""}}) - close == Approx(2e-6));
  // Frameworks launch one kernel after the other, 4 us apart; no engine is slower than that.
  const double launched = time({{"/jobs/0/framework/launches_ahead", "false"}});
  CHECK(launched - close == Approx(3e-6));
  CHECK(time({{floor, "\"9 us\""}}) == Approx(launched));
}

TEST_CASE("a key that a job's kind does not read is told, or refused where it changes the meaning",
          "[same]")
{
  const auto told = [](const experiments::PointResult& point, const std::string& key) {
    for (const std::string& warning : point.warnings)
      if (warning.find('"' + key + '"') != std::string::npos &&
          warning.find("no influence") != std::string::npos)
        return true;
    return false;
  };
  CHECK(told(run_text(kJob, {{"/jobs/0/sequence", "512"}}), "sequence"));
  CHECK(told(run_text(kJob, {{"/jobs/0/recompute", "\"full\""}}), "recompute"));
  CHECK_FALSE(told(run_text(kJob, {{"/jobs/0/steps", "3"}}), "steps"));
  CHECK_THROWS_WITH(run_text(kJob, {{"/jobs/0/parallel", R"({"tensor": 2})"}}),
                    Contains("/jobs/0/parallel"));
  CHECK_THROWS_WITH(
      run_text(kJob, {{"/jobs/0/precision", "\"fp8\""}, {"/cluster/platform", "\"dgx-h100\""}}),
      Contains("transformer"));

  const char* const transformer = R"({
    "cluster": {"platform": "dgx-h100"},
    "jobs": [{"model": "llama-3-8b", "framework": "pytorch-fsdp", "precision": "bf16",
              "batch_per_gpu": 1, "gpus": 8, "parallel": {"zero": 3}}]})";
  CHECK(told(run_text(transformer, {{"/jobs/0/anchor", R"({"samples_per_s": 5})"}}), "anchor"));
  CHECK(told(run_text(transformer, {{"/jobs/0/input", "\"tfrecord\""}}), "input"));
  CHECK_FALSE(told(run_text(transformer, {{"/jobs/0/recompute", "\"full\""}}), "recompute"));
  CHECK_THROWS_WITH(run_text(transformer, {{"/jobs/0/mode", "\"inference\""}}),
                    Contains("/jobs/0/mode"));
}

TEST_CASE("collectives take multiprocessors from kernels that already run", "[same]")
{
  const auto rate = [](int multiprocessors, int gpus) {
    const std::string platform = R"({"extends": "c4140-k-v100-sxm2", "node": {"gpus": {"type": {)"
                                 R"("extends": "v100-sxm2-16gb", "multiprocessors": )" +
                                 std::to_string(multiprocessors) + "}}}}";
    return run_text(kJob, {{"/cluster/platform", platform},
                           {"/jobs/0/framework", "\"mxnet\""},
                           {"/jobs/0/anchor", R"({"samples_per_s": 300})"},
                           {"/jobs/0/gpus", std::to_string(gpus)}})
        .jobs[0]
        .throughput.median;
  };
  // Tiles shape kernels of one GPU, too; its rate is that of the anchor.
  CHECK(rate(40, 1) == Approx(rate(2000, 1)).epsilon(1e-3));
  CHECK(rate(40, 4) / rate(40, 1) < 0.999 * rate(2000, 4) / rate(2000, 1));
}
