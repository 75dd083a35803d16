// What jobs of several GPUs pay for buckets of gradients, and pods for being apart.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::ddp_copies_test {

using namespace foretrain::test;

namespace {

double step(const std::string& job, const std::string& host = "container")
{
  return run_text(R"({"cluster": {"platform": "dgx1-v100"}, "stack": {"host": ")" + host +
                  R"(", "network": "tcp"}, "jobs": [{"model": "resnet50", "batch_per_gpu": 32, )" +
                  job + "}]}")
      .jobs[0]
      .step_time.median;
}

} // namespace

TEST_CASE("PyTorch's copies of gradients are those of several GPUs", "[buckets][long]")
{
  const std::string plain = R"("framework": {"extends": "pytorch-ddp", "bucket_copies": false}, )";
  const std::string ddp = R"("framework": "pytorch-ddp", )";
  CHECK(step(ddp + R"("gpus": 1)") == step(plain + R"("gpus": 1)"));
  // 25.6 million gradients in 161 tensors, read and written both ways: about half a millisecond.
  const double more = step(ddp + R"("gpus": 4)") - step(plain + R"("gpus": 4)");
  CHECK(more > 0.4e-3);
  CHECK(more < 4e-3);
}

TEST_CASE("A pod for each GPU loses NVLink between them", "[rings][long]")
{
  const std::string eight = R"("framework": "pytorch-ddp", "gpus": 8)";
  CHECK(step(eight, "pod-per-gpu") > 1.02 * step(eight));
  const std::string one = R"("framework": "pytorch-ddp", "gpus": 1)";
  CHECK(step(one, "pod-per-gpu") == step(one));
}

} // namespace foretrain::ddp_copies_test
