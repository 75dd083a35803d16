// Jobs of one node that meet on a thread that all packets pass.
#include "experiments/run/scenario.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::layer_threads_test {

using namespace foretrain::experiments;

namespace {

PointResult two_jobs(const char* host, const char* network)
{
  const auto job = [](const std::string& name, const std::string& places) {
    return R"({"name": ")" + name + R"(", "model": "vgg16", "batch_per_gpu": 32, "gpus": 2,
               "precision": "fp16", "framework": {"extends": "tensorflow-horovod",
               "step_variation": 0}, "placement": [)" +
           places + "]}";
  };
  const std::string text =
      R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2}, "stack": {"host": ")" +
      std::string(host) + R"(", "network": ")" + network + R"("}, "jobs": [)" +
      job("first", "[0, 0], [1, 0]") + "," + job("second", "[0, 1], [1, 1]") + "]}";
  return run_point({{}, foretrain::parse_document(text, "test"), nullptr}, {});
}

} // namespace

TEST_CASE("jobs of one node share the daemon of a tunnel, and no tunnel of the kernel", "[many]")
{
  const PointResult daemon = two_jobs("container", "flannel-udp");
  const PointResult kernel = two_jobs("container", "flannel-vxlan");
  for (std::size_t i = 0; i < 2; ++i) {
    // All but the first layers' backward waits for the exchange.
    CHECK(*daemon.jobs[i].slowdown > 1.8);
    CHECK(*daemon.jobs[i].slowdown < 2.01);
    CHECK(*kernel.jobs[i].slowdown < 1.02);
    REQUIRE(daemon.jobs[i].meeting);
    CHECK(daemon.jobs[i].meeting->resource == "node0/flannel, UDP/thread");
    CHECK(daemon.jobs[i].bottleneck.resource == "node0/flannel, UDP/thread");
  }
  // Guests have a daemon each.
  CHECK(*two_jobs("container-on-vm", "flannel-udp").jobs[0].slowdown < 1.02);
}

} // namespace foretrain::layer_threads_test
