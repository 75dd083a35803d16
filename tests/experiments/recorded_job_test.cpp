// Jobs whose model is a recording: what the file says holds where the job says nothing, and one GPU
// is what the others are measured by.
#include "experiments/answers/programs.hpp"
#include "experiments/spec/resolve.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::recorded_job_test {

using namespace foretrain::test;

namespace {

// 6 ms of kernels, 3 ms without any and an all-to-all among two ranks, in TF32 on an A100.
const char* const kRecorded = R"({
  "cluster": { "platform": "dgx-a100-80gb" },
  "jobs": [ { "name": "train", "framework": "pytorch-ddp", "gpus": 2,
    "model": { "name": "recorded",
      "measured": { "device": "NVIDIA A100-SXM4-80GB", "gpu": "a100-sxm4-80gb", "precision": "tf32",
        "batch": 32, "step": "10 ms", "ranks": 2, "variation": 0,
        "forward": [ { "product": "2 ms", "idle": "1 ms", "kernels": 10 } ],
        "backward": [ { "product": "4 ms", "idle": "2 ms", "kernels": 20, "gradients": [ 1000 ] } ],
        "exchanges": [ { "kind": "all-to-all", "size": "100 MB" } ],
        "lines": [ { "pieces": [
          { "phase": "forward", "product": "2 ms", "idle": "1 ms", "kernels": 10, "starts": [ 0 ] },
          { "phase": "backward", "product": "4 ms", "idle": "2 ms", "kernels": 20, "after": [ 0 ] }
        ] } ] } } } ] })";

} // namespace

TEST_CASE("a recording on two GPUs is measured by the same on one", "[traces]")
{
  const auto one = run_text(kRecorded, {{"/jobs/0/gpus", "1"}}).jobs.front();
  const auto two = run_text(kRecorded).jobs.front();
  CHECK_THAT(one.step_time.median, is(9e-3));
  CHECK_THAT(one.time.compute.value(), is(6e-3));
  CHECK_THAT(one.time.framework.value(), is(3e-3));
  CHECK_THAT(one.throughput.median, is(32 / 9e-3)); // the recorded batch
  CHECK(two.step_time.median > 9e-3);
  CHECK_THAT(two.speedup, is(two.throughput.median / one.throughput.median));
  CHECK_THAT(two.efficiency, is(two.speedup / 2));
  CHECK(two.time.compute.value() == Approx(6e-3).epsilon(1e-3)); // of two GPUs one is the slower
  CHECK_THAT(two.time.framework.value(), is(3e-3));
}

TEST_CASE("a recording that does not tell its GPU is the same on any, and says so", "[traces]")
{
  const auto told = [](const std::string& device) {
    std::string text = kRecorded;
    const std::string whole = R"("device": "NVIDIA A100-SXM4-80GB", "gpu": "a100-sxm4-80gb", )";
    text.replace(text.find(whole), whole.size(), device);
    const auto point = run_text(text.c_str(), {{"/cluster/platform", "dgx-h100"}});
    std::string warnings;
    for (const std::string& warning : point.warnings)
      warnings += warning + "\n";
    return warnings;
  };
  CHECK_THAT(told(""), Catch::Contains("does not tell the GPU that it was recorded on"));
  CHECK_THAT(told(R"("device": "Some GPU", )"), Catch::Contains("as if every GPU were one") &&
                                                    !Catch::Contains("does not tell the GPU"));
  CHECK_THAT(told(R"("gpu": "a100-sxm4-80gb", )"),
             Catch::Contains("extrapolates") && !Catch::Contains("does not tell the GPU"));
}

TEST_CASE("kernels of a recording take longer in a guest, its waits do not", "[traces][guest]")
{
  const char* const guest = R"({"host": {"extends": "bare-metal", "quality": [
    {"name": "slow", "low": 0.7, "median": 0.8, "high": 0.9}]}})";
  for (const char* gpus : {"1", "2"}) {
    const auto job = run_text(kRecorded, {{"/jobs/0/gpus", gpus}, {"/stack", guest}}).jobs.front();
    INFO(gpus);
    CHECK(job.time.compute.value() == Approx(6e-3 / 0.8).epsilon(1e-3));
    CHECK_THAT(job.time.framework.value(), is(3e-3));
  }
}

TEST_CASE("a recording is of its own precision where the job names none", "[traces][long]")
{
  const auto silent = run_text(kRecorded).jobs.front();
  const auto same = run_text(kRecorded, {{"/jobs/0/precision", "tf32"}}).jobs.front();
  const auto single = run_text(kRecorded, {{"/jobs/0/precision", "fp32"}}).jobs.front();
  const auto batch = run_text(kRecorded, {{"/jobs/0/batch_per_gpu", "64"}}).jobs.front();
  CHECK_THAT(silent.step_time.median, is(same.step_time.median));
  CHECK(single.time.compute > 2 * silent.time.compute); // 156 and 19.5 TFLOP/s
  CHECK_THAT(batch.time.compute.value(), is(2 * silent.time.compute.value()));
  // Volta has no TF32: the job is of single precision.
  const auto volta = run_text(kRecorded, {{"/cluster/platform", "dgx1-v100"}}).jobs.front();
  const auto named =
      run_text(kRecorded, {{"/cluster/platform", "dgx1-v100"}, {"/jobs/0/precision", "fp32"}});
  CHECK_THAT(volta.step_time.median, is(named.jobs.front().step_time.median));
}

TEST_CASE("a recording that waits for its host is limited by that, and says what half of it brings",
          "[traces]")
{
  const auto job = run_text(kRecorded, {{"/jobs/0/gpus", "1"},
                                        {"/jobs/0/model/measured/forward/0/idle", "\"40 ms\""},
                                        {"/jobs/0/model/measured/backward/0/idle", "\"5 ms\""}})
                       .jobs.front();
  CHECK_THAT(job.time.framework.value(), is(45e-3));
  CHECK(job.bottleneck.resource == "framework");
  CHECK(job.bottleneck.name == "overheads of the framework");
  CHECK(*job.bottleneck.gain_if_doubled == Approx(51.0 / 28.5 - 1).epsilon(1e-3));
}

TEST_CASE("stretches of a recording's backward pass are its layers", "[traces]")
{
  experiments::Point point;
  point.document = parse_document(kRecorded, "test");
  const auto layers = experiments::resolve(point).jobs.front().network.layers;
  REQUIRE(layers.size() == 1);
  CHECK(layers[0].op == "measured");
  CHECK(layers[0].name == "backward0");
  CHECK(layers[0].kind == models::LayerKind::linear); // all of it is products
  CHECK(layers[0].parameters == 1000);
}

TEST_CASE("a recording's program is called like its job", "[traces]")
{
  const auto loaded = experiments::load_experiment(parse_document(kRecorded, "test"), {});
  CHECK(experiments::programs_of(loaded, 0).at("jobs").at(0).at("name") == "train");
}

TEST_CASE("what a recording waited for batches and their copies is part of its step",
          "[traces][closed-form]")
{
  const auto job = run_text(kRecorded, {{"/jobs/0/gpus", "1"},
                                        {"/jobs/0/model/measured/input", "\"2 ms\""},
                                        {"/jobs/0/model/measured/copy", "\"3 ms\""},
                                        {"/jobs/0/model/measured/host", "\"1 ms\""}})
                       .jobs.front();
  CHECK_THAT(job.step_time.median, is(9e-3 + 6e-3));
  CHECK_THAT(job.time.compute.value(), is(6e-3));
}

} // namespace foretrain::recorded_job_test
