// Variables that live in host memory, fetched by each step.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::fetch_test {

using namespace foretrain::test;

namespace {

experiments::JobResult job(const std::string& order, int gpus, double anchor = 219)
{
  const std::string text = R"({
    "cluster": {"platform": "dgx1-p100", "nodes": 1},
    "jobs": [{"model": "resnet50", "batch_per_gpu": 64,
              "anchor": {"samples_per_s": )" +
                           std::to_string(anchor) + R"(},
              "framework": {"extends": "tensorflow-local-ps", "step_variation": 0,
                            "servers": {"fetch_order": ")" +
                           order + R"("}}}]})";
  return run_text(text, {{"/jobs/0/gpus", std::to_string(gpus)}}).jobs[0];
}

} // namespace

TEST_CASE("an anchor holds what one GPU waits for its variables", "[fetch][long]")
{
  for (const char* order : {"forward", "any"})
    CHECK(job(order, 1).throughput.median == Approx(219).epsilon(0.01));
}

TEST_CASE("variables in the order of the layers hide behind the forward pass",
          "[fetch][property][many]")
{
  for (const int gpus : {4, 8}) {
    const auto in_order = job("forward", gpus);
    const auto drawn = job("any", gpus);
    CHECK(in_order.step_time.median < drawn.step_time.median);
    CHECK(in_order.time.exposed_communication < drawn.time.exposed_communication);
    CHECK(in_order.time.total().value() == Approx(in_order.step_time.median).epsilon(1e-6));
    CHECK(drawn.time.total().value() == Approx(drawn.step_time.median).epsilon(1e-6));
    CHECK(drawn.time.input_stall.value() == Approx(0).margin(1e-9));
  }
}

} // namespace foretrain::fetch_test
