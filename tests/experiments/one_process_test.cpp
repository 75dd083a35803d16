// One process that launches for all GPUs of a node.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::one_process_test {

using namespace foretrain::test;

namespace {

constexpr double kLaunch = 4e-6; // of a V100
constexpr double kTensors = 161; // gradients of ResNet-50

double step(const std::string& one_process, int gpus, const std::string& precision = "fp32")
{
  const std::string text = R"({
    "cluster": {"platform": "dgx1-v100", "nodes": 2},
    "jobs": [{"model": "resnet50", "batch_per_gpu": 64, "precision": ")" +
                           precision + R"(",
              "framework": {"extends": "tensorflow-2-mirrored", "one_process": )" +
                           one_process + R"(}}]})";
  return run_text(text, {{"/jobs/0/gpus", std::to_string(gpus)}}).jobs[0].step_time.median;
}

double more(int gpus, const std::string& precision, const std::string& key)
{
  const auto with = [&](const char* launches) {
    return step("{\"" + key + "\": " + launches + "}", gpus, precision);
  };
  return with("120") - with("100");
}

} // namespace

TEST_CASE("launches of the update follow each other, GPU after GPU", "[launch][closed-form][long]")
{
  for (const int gpus : {2, 8})
    CHECK(more(gpus, "fp32", "launches_per_gradient") ==
          Approx(20 * gpus * kTensors * kLaunch).epsilon(1e-6));
  CHECK(more(16, "fp32", "launches_per_gradient") ==
        Approx(20 * 8 * kTensors * kLaunch).epsilon(1e-6)); // a process for each node
}

TEST_CASE("the scale of the loss costs launches in half precision only",
          "[launch][closed-form][long]")
{
  CHECK(more(8, "fp16", "launches_per_half_gradient") ==
        Approx(20 * 8 * kTensors * kLaunch).epsilon(1e-6));
  CHECK(more(8, "fp32", "launches_per_half_gradient") == Approx(0).margin(1e-12));
}

TEST_CASE("one GPU hides its launches, and few are hidden behind the update", "[launch]")
{
  CHECK(more(1, "fp32", "launches_per_gradient") == Approx(0).margin(1e-12));
  CHECK(step(R"({"launches_per_gradient": 0})", 1) == step(R"({"launches_per_gradient": 9})", 1));
}

} // namespace foretrain::one_process_test
