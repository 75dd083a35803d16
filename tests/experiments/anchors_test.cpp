// Anchors of one GPU and of several, of networks and of transformers.
#include "experiments/answers/comparisons.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/spec/anchor.hpp"
#include "platforms/guest_quality.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::anchors_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

const std::string kNetwork = R"({
  "cluster": {"platform": "dgx1-v100", "nodes": 2},
  "jobs": [{"name": "train", "model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16",
            "batch_per_gpu": 64, "gpus": 8}]})";
const std::string kTransformer = R"({
  "cluster": {"platform": "dgx-a100"},
  "jobs": [{"name": "train", "model": "bert-large-512", "framework": "megatron", "steps": 3,
            "precision": "fp16", "batch_per_gpu": 8, "gpus": 8}]})";

double rate(const std::string& text, const Settings& settings)
{
  return test::run_text(text, settings).jobs.front().throughput.median;
}

std::string problem_of(const std::string& text, const Settings& settings)
{
  try {
    test::run_text(text, settings);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("an anchor of one GPU is that of its kernels, others are met by runs", "[anchor]")
{
  const auto spec = [](const std::string& text, const char* anchor) {
    auto document = parse_document(text, "test");
    if (anchor != nullptr)
      set_value(*document, "/jobs/0/anchor", anchor);
    return read_point({{}, document, nullptr, nullptr}).jobs.front();
  };
  CHECK_FALSE(anchored_by_runs(spec(kNetwork, nullptr)));
  CHECK_FALSE(anchored_by_runs(spec(kNetwork, R"({"samples_per_s": 700})")));
  CHECK(anchored_by_runs(spec(kNetwork, R"({"samples_per_s": 1400, "gpus": 2})")));
  CHECK(anchored_by_runs(spec(kTransformer, R"({"samples_per_s": 40, "gpus": 1})")));
  CHECK(anchor_gpus(spec(kNetwork, R"({"samples_per_s": 700})")) == 1);
  CHECK(anchor_gpus(spec(kTransformer, R"({"samples_per_s": 300})")) == 8); // the job's own
}

TEST_CASE("an anchor was measured under the file's host layer, whatever is tried", "[anchor][long]")
{
  // Kernels limit the first, its host's launches the second.
  for (const auto& [model, batch, measured] :
       {std::tuple("resnet50", "64", 700.0), std::tuple("bert-base", "1", 40.0)})
    for (const char* host : {"bare-metal", "vm", "vm-untuned"}) {
      const std::string text = fmt::format(R"({{"cluster": {{"platform": "c4140-k-v100-sxm2"}},
        "stack": {{"host": "{}"}}, "jobs": [{{"model": "{}", "framework": "pytorch-ddp",
        "precision": "fp16", "batch_per_gpu": {}, "anchor": {{"samples_per_s": {}}}}}]}})",
                                           host, model, batch, measured);
      CAPTURE(text);
      CHECK(rate(text, {}) == Approx(measured).epsilon(1e-3));
      const auto document = parse_document(text, "test");
      document->root["sweep"] = {{"/stack/host", {"bare-metal", "vm-untuned"}}};
      RunOptions options;
      options.uncertainty.method = UncertaintyMethod::steps;
      std::map<std::string, double> swept;
      for (const Point& point : load_experiment(document, {}, {}).points)
        swept[point.settings.front().second] =
            run_point(point, options).jobs.front().throughput.median;
      CHECK(swept.at("bare-metal") > 1.05 * swept.at("vm-untuned"));
      if (swept.contains(host))
        CHECK(swept.at(host) == Approx(measured).epsilon(1e-3));
    }
}

TEST_CASE("the anchor's own job has the anchor's rate", "[anchor][many]")
{
  CHECK(rate(kNetwork, {{"/jobs/0/anchor", R"({"samples_per_s": 5100, "gpus": 8})"}}) ==
        Approx(5100).epsilon(1e-3));
  CHECK(rate(kNetwork, {{"/jobs/0/anchor", R"({"samples_per_s": 2500, "gpus": 4})"},
                        {"/jobs/0/gpus", "4"}}) == Approx(2500).epsilon(1e-3));
  CHECK(rate(kTransformer, {{"/jobs/0/anchor", R"({"samples_per_s": 300})"}}) ==
        Approx(300).epsilon(1e-3));
}

TEST_CASE("an anchor of several GPUs says what others do", "[anchor][many]")
{
  // What a known time of kernels gives on 8 GPUs tells that time, and so the rate of 16.
  const std::string slower = "1.3";
  const double eight = rate(kNetwork, {{"/jobs/0/kernel_time", slower}});
  const double sixteen = rate(kNetwork, {{"/jobs/0/kernel_time", slower}, {"/jobs/0/gpus", "16"}});
  const auto result = test::run_text(
      kNetwork,
      {{"/jobs/0/gpus", "16"},
       {"/jobs/0/anchor", "{\"gpus\": 8, \"samples_per_s\": " + std::to_string(eight) + "}"}});
  CHECK(result.jobs.front().throughput.median == Approx(sixteen).epsilon(1e-3));
  std::string told;
  for (const std::string& warning : result.warnings)
    told += warning;
  CHECK_THAT(told, Contains("on 8 GPUs makes kernels 1.3 times as long as computed"));
}

TEST_CASE("an anchor of another batch stretches kernels by the same factor", "[anchor]")
{
  // To what the steps of a run differ by.
  const double at_64 = rate(kNetwork, {{"/jobs/0/gpus", "1"}, {"/jobs/0/kernel_time", "1.2"}});
  const double at_128 = rate(
      kNetwork,
      {{"/jobs/0/gpus", "1"}, {"/jobs/0/kernel_time", "1.2"}, {"/jobs/0/batch_per_gpu", "128"}});
  CHECK(rate(kNetwork, {{"/jobs/0/gpus", "1"},
                        {"/jobs/0/batch_per_gpu", "128"},
                        {"/jobs/0/anchor", "{\"batch_per_gpu\": 64, \"samples_per_s\": " +
                                               std::to_string(at_64) + "}"}}) ==
        Approx(at_128).epsilon(0.01));
}

TEST_CASE("an anchor holds the host's launches", "[anchor][many]")
{
  // One image is computed long before its launches are done, however the anchor lies to them; what
  // it says of the host is no part of a large batch's step.
  // Rates are told to what the steps of a run differ by.
  const Settings one{{"/jobs/0/gpus", "1"}, {"/jobs/0/batch_per_gpu", "1"}};
  const auto at_one = [&](Settings more) {
    more.insert(more.begin(), one.begin(), one.end());
    return test::run_text(kNetwork, more).jobs.front();
  };
  const auto cold = at_one({});
  CHECK(cold.time.framework > 0.3 * cold.time.total());
  CHECK(cold.bottleneck.resource == "framework");
  for (const char* rate : {"20", "60", "200", "1000"})
    CHECK(at_one({{"/jobs/0/anchor", std::string("{\"samples_per_s\": ") + rate + "}"}})
              .throughput.median == Approx(std::stod(rate)).epsilon(0.01));
  for (const char* rate : {"20", "60", "200"}) // by runs
    CHECK(
        at_one({{"/jobs/0/gpus", "2"},
                {"/jobs/0/anchor", std::string("{\"gpus\": 2, \"samples_per_s\": ") + rate + "}"}})
            .throughput.median == Approx(std::stod(rate)).epsilon(0.01));
  const Settings large{{"/jobs/0/gpus", "1"}, {"/jobs/0/batch_per_gpu", "256"}};
  Settings from_one = large;
  from_one.emplace_back("/jobs/0/anchor", "{\"batch_per_gpu\": 1, \"samples_per_s\": " +
                                              std::to_string(0.8 * cold.throughput.median) + "}");
  CHECK(rate(kNetwork, from_one) == Approx(rate(kNetwork, large)).epsilon(0.01));
}

TEST_CASE("a sweep's points share the kernels of the anchored job, whatever they try",
          "[anchor][long]")
{
  const auto document = std::make_shared<Document>(*parse_document(R"({
    "cluster": {"platform": "hgx-h100", "nodes": 1},
    "jobs": [{"model": "gpt3-1.7b", "framework": "megatron", "gpus": 8, "global_batch": 64,
      "parallel": {"tensor": 2}, "steps": 3, "anchor": {"samples_per_s": 20}}],
    "sweep": {"/jobs/0/parallel/tensor": [1, 2, 4]}})",
                                                                   "anchored-sweep.json"));
  const LoadedExperiment sweep = load_experiment(document, {}, {});
  REQUIRE(sweep.points.size() == 3);
  RunOptions options;
  options.uncertainty.method = UncertaintyMethod::steps;
  std::vector<double> rates;
  std::set<double> kernels;
  for (const Point& point : sweep.points) {
    rates.push_back(run_point(point, options).jobs.front().throughput.median);
    kernels.insert(
        with_anchors(point, options).document->root["jobs"][0]["kernel_time"].get<double>());
  }
  CHECK(kernels.size() == 1);
  CHECK(rates[1] == Approx(20).epsilon(2e-3));
  CHECK(std::abs(rates[0] / 20 - 1) > 0.02);
  CHECK(std::abs(rates[2] / 20 - 1) > 0.02);

  // One that tries anchors means the job of each point.
  document->root["sweep"] = {{"/jobs/0/anchor/samples_per_s", {10, 20}}};
  for (const Point& point : load_experiment(document, {}, {}).points)
    CHECK(run_point(point, options).jobs.front().throughput.median ==
          Approx(point.settings.front().second.get<double>()).epsilon(2e-3));
}

TEST_CASE("an anchor in a jump of the step's time is met on the jump's nearer side",
          "[anchor][many]")
{
  // Horovod's gradients leave at multiples of its cycle: steps jump by 0.2 % there (MLPerf v0.6).
  const std::string detector = R"({
    "cluster": {"platform": "dgx1-v100"},
    "jobs": [{"name": "train", "model": "ssd300-resnet34", "framework": {"extends": "mxnet-horovod",
              "fused_elementwise": true}, "precision": "fp16", "batch_per_gpu": 120, "gpus": 8}]})";
  for (const double measured : {4429.65, 4425.0, 4420.0})
    CHECK(rate(detector,
               {{"/jobs/0/anchor", "{\"gpus\": 8, \"samples_per_s\": " + std::to_string(measured) +
                                       "}"}}) == Approx(measured).epsilon(2e-3));
}

TEST_CASE("an anchor that no time of kernels gives is refused", "[anchor]")
{
  const std::string problem =
      problem_of(kNetwork, {{"/jobs/0/anchor", R"({"samples_per_s": 5e6, "gpus": 8})"}});
  CHECK_THAT(problem, Contains("/jobs/0/anchor/samples_per_s"));
  CHECK_THAT(problem, Contains("which no time of kernels gives"));
}

TEST_CASE("an interval holds machines on which an anchor's rate cannot be reached",
          "[anchor][long]")
{
  // Bound by its host: with any later launches no time of kernels gives the rate.
  const std::string text = R"({"cluster": {"platform": "hgx-h100"},
    "jobs": [{"model": "llama-3-8b", "framework": "megatron", "precision": "bf16", "gpus": 16,
              "sequence": 2048, "global_batch": 32, "micro_batch": 1, "steps": 3,
              "parallel": {"tensor": 2, "context": 4, "zero": 1}}]})";
  const double own = rate(text, {});
  const auto anchored =
      test::run_text(text, {{"/jobs/0/anchor", fmt::format(R"({{"samples_per_s": {}}})", own)}});
  const Range& range = anchored.jobs.front().throughput;
  CHECK(range.median == Approx(own).epsilon(2e-4));
  // A slower host contradicts the measurement, a quicker one leaves kernels more time.
  const Range cold = test::run_text(text).jobs.front().throughput;
  CHECK(std::log(range.high / range.low) < 0.5 * std::log(cold.high / cold.low));
  CHECK(std::log(range.high / range.low) > 0.075); // the anchor is uncertain itself
}

TEST_CASE("an anchor's batch is passes of the job's micro-batch, or the job says none",
          "[anchor][long]")
{
  const auto run = [](const std::string& batch) {
    return test::run_text(
        R"({"cluster": {"platform": "dgx-a100"}, "jobs": [{"model": "bert-large-512", "sequence": 128,
      "framework": "nemo", "precision": "fp16", "gpus": 8, "parallel": {"tensor": 2},
      "anchor": {"samples_per_s": 300, "gpus": 4, "batch_per_gpu": 7}, )" +
        batch + "}]}");
  };
  // Four GPUs are two ranks of 14 samples each.
  CHECK_THROWS_WITH(run(R"("micro_batch": 4, "global_batch": 32)"),
                    Catch::Matchers::Contains("/jobs/0/anchor/batch_per_gpu is 7") &&
                        Catch::Matchers::Contains("micro_batch of 4"));
  CHECK_NOTHROW(run(R"("micro_batch": 2, "global_batch": 32)"));
  CHECK_NOTHROW(run(R"("micro_batch": 14, "global_batch": 56)"));
}

TEST_CASE("BERT-large takes the same as layers and as a transformer", "[anchor][many]")
{
  // Attention with scores that pass through memory, as the layers say it; all in half precision, or
  // cast to single and back, or composed; on tensor cores or not; the device or the host in charge.
  const auto framework = GENERATE("pytorch-apex-ddp", "pytorch-ddp", "mxnet-horovod",
                                  "tensorflow-2-horovod", "tensorflow-2-xla-horovod");
  const auto platform = GENERATE("dgx-a100", "dgx1-v100");
  const auto precision = GENERATE("fp16", "bf16", "fp32", "tf32");
  if (platform == std::string("dgx1-v100") && (precision[0] == 'b' || precision[0] == 't'))
    return;
  const auto batch = GENERATE(4, 16);
  CAPTURE(framework, platform, precision, batch);
  const auto text = [&](const std::string& model) {
    return R"({"cluster": {"platform": ")" + std::string(platform) + R"("}, "jobs": [{)" + model +
           R"(, "framework": ")" + framework + R"(", "precision": ")" + precision +
           R"(", "batch_per_gpu": )" + std::to_string(batch) + "}]}";
  };
  const double layers =
      rate(text(R"("model": {"extends": "bert-large", "input": {"tokens": 512}})"), {});
  const double transformer = rate(text(R"("model": "bert-large-512", "attention": "plain")"), {});
  // Products of layers wait for the longer of arithmetic and memory, a transformer's for both.
  CHECK(layers == Approx(transformer).epsilon(0.06));
  // Attention is one kernel in PyTorch alone, unless a job says otherwise.
  const double untold = rate(text(R"("model": "bert-large-512")"), {});
  CHECK((untold == transformer) == (framework != std::string("pytorch-ddp")));
}

TEST_CASE("which guest an anchor was measured in is known there, and nowhere else",
          "[anchor][long]")
{
  const auto document = parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2"},
    "stack": {"host": "vm-untuned"}, "jobs": [{"model": "resnet50", "framework": "pytorch-ddp",
    "precision": "fp16", "batch_per_gpu": 128, "gpus": 1, "anchor": {"samples_per_s": 700}}],
    "sweep": {"/stack/host": ["vm-untuned", "bare-metal", "vm-tuned"]}})",
                                       "test");
  std::vector<JobResult> jobs;
  const LoadedExperiment sweep = load_experiment(document, {}, {});
  for (const Point& point : sweep.points)
    jobs.push_back(run_point(point, {}).jobs.front());
  const auto below = [&](std::size_t i) {
    return std::log(jobs[i].throughput.median / jobs[i].throughput.low);
  };
  const auto above = [&](std::size_t i) {
    return std::log(jobs[i].throughput.high / jobs[i].throughput.median);
  };
  CHECK(!jobs[0].uncertainty->guest);
  CHECK(above(0) < 0.06);
  CHECK(below(0) < 0.06);
  // The worse it was there, a third at most, the faster the bare machine.
  const auto untuned =
      platforms::load_host(resolve_preset(std::string("vm-untuned"), platforms::kHostKind));
  const double worst =
      platforms::guest_loss(untuned.quality, 0.05) - platforms::guest_loss(untuned.quality, 0.5);
  CHECK(!jobs[1].uncertainty->guest);
  CHECK(above(1) == Approx(std::hypot(worst, above(0))).epsilon(0.03));
  CHECK(below(1) < above(1) / 3);
  // What both rest on cancels: a tuned guest is hardly slower, and surely no faster by a third.
  REQUIRE(jobs[2].uncertainty->guest);
  const Deviations ratio = deviations_of_ratio(jobs[1], jobs[2], nullptr);
  CHECK(ratio.larger() * 1.645 < 0.1);
}

} // namespace foretrain::anchors_test
