// What joins the nodes, asked for by the cluster.
#include "tests/experiments/point.hpp"

#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::cluster_fabric_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

std::string pods(const std::string& cluster, const std::string& network = "calico")
{
  return R"({"cluster": {"nodes": 2, )" + cluster +
         R"(}, "stack": {"host": "container", "network": ")" + network + R"("},
            "jobs": [{"model": "resnet50", "framework": "pytorch-ddp", "batch_per_gpu": 20, "gpus": 8}]})";
}

double step(const std::string& cluster, const std::string& network = "calico")
{
  return run_text(pods(cluster, network)).jobs[0].step_time.median;
}

} // namespace

TEST_CASE("A cluster's fabric is as if the platform had it", "[fabric][long]")
{
  const double outside = step(R"("platform": "g4dn-12xlarge")");
  const double group = step(R"("platform": "g4dn-12xlarge", "fabric": "aws-placement-group")");
  CHECK(group < 0.8 * outside); // twice the rate of each flow
  CHECK(group == step(R"("platform": {"extends": "g4dn-12xlarge", "networks":
                         [{"nics": ["eth0"], "fabric": "aws-placement-group"}]})"));
  CHECK(outside == step(R"("platform": "g4dn-12xlarge", "fabric": "aws-vpc")"));
}

TEST_CASE("NCCL that sees the adapter of a cloud has connections enough", "[fabric][long]")
{
  CHECK(step(R"("platform": "g4dn-12xlarge")", "host-network") <
        0.7 * step(R"("platform": "g4dn-12xlarge")"));
}

TEST_CASE("Twice the connections of a cloud's adapter are twice what the library opens by itself",
          "[fabric][long]")
{
  const auto with = [](const std::string& better) {
    return run_text("{" + better + pods(R"("platform": "p3dn")", "host-network").substr(1))
        .jobs[0]
        .step_time.median;
  };
  CHECK(with(R"("better": {"connections": 2}, )") <= 1.001 * with(""));
  CHECK(with(R"("better": {"connections": 1}, )") == with(""));
}

TEST_CASE("a port is as slow as the slower of its ends, and that is told",
          "[fabric][closed-form][long]")
{
  const auto job = [](const std::string& fabric) {
    std::string text = pods(R"("platform": "c4140-m-v100-sxm2")" + fabric, "rdma");
    text.replace(text.find("resnet50"), 8, "vgg16");
    return run_text(text);
  };
  const PointResult slow = job(R"(, "fabric": "s3048-1gbe")");
  // The gradients of 138,357,544 parameters leave and enter a node over 125 MB/s.
  CHECK(slow.jobs[0].step_time.median > 138357544.0 * 4 / 125e6);
  CHECK_THAT(slow.warnings.back(), Contains("ib0") && Contains("runs at the 125 MB/s of a port"));
  CHECK(job("").warnings.empty());
  const auto step_of = [](const PointResult& point) { return point.jobs[0].step_time.median; };
  CHECK(step_of(job(R"(, "fabric": {"extends": "sb7800-edr", "port_rate": "400 Gb/s"})")) ==
        step_of(job("")));
}

TEST_CASE("what a port limits its switch betters, not the adapter", "[fabric][long]")
{
  const auto step_of = [](const std::string& fabric, const std::string& better) {
    std::string text = pods(R"("platform": "c4140-m-v100-sxm2", "fabric": )" + fabric, "rdma");
    text.replace(text.find("resnet50"), 8, "vgg16");
    return run_text("{\"better\": {" + better + "}, " + text.substr(1)).jobs[0].step_time.median;
  };
  const double limited = step_of(R"("s3048-1gbe")", "");
  CHECK(step_of(R"("s3048-1gbe")", R"("nic": 2)") == limited);
  CHECK_THAT(step_of(R"("s3048-1gbe")", R"("fabric": 2)"),
             test::is(step_of(R"({"extends": "s3048-1gbe", "port_rate": "2 Gb/s"})", "")));
  // No further than the adapter.
  CHECK(step_of(R"("s3048-1gbe")", R"("fabric": 100)") ==
        step_of(R"({"extends": "s3048-1gbe", "port_rate": "100 Gb/s"})", ""));
}

TEST_CASE("Of several networks that is meant which jobs train over", "[fabric][long]")
{
  const char* const leaf = R"("platform": "c4140-k-v100-sxm2", "fabric": {"extends": "sb7800-edr",
                              "ports": 2, "oversubscription": 8})";
  const std::string eight = R"("platform": "c4140-k-v100-sxm2")";
  const auto exposed = [](const std::string& cluster) {
    std::string text = pods(cluster, "rdma");
    text.replace(text.find("\"nodes\": 2"), 10, "\"nodes\": 8");
    text.replace(text.find("resnet50"), 8, "vgg16");
    text.replace(text.find("\"gpus\": 8"), 9, "\"gpus\": 32");
    return run_text(text).jobs[0].step_time.median;
  };
  CHECK(exposed(leaf) > 1.1 * exposed(eight));
}

TEST_CASE("A fabric that is none or joins nothing is refused", "[fabric]")
{
  CHECK_THROWS_WITH(step(R"("platform": "g4dn-12xlarge", "fabric": "aws-vcp")"),
                    Contains("/cluster/fabric") && Contains("aws-vpc"));
}

} // namespace foretrain::cluster_fabric_test
