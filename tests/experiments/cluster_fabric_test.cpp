// What joins the nodes, asked for by the cluster.
#include "tests/experiments/point.hpp"

#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::cluster_fabric_test {

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

TEST_CASE("A cluster's fabric is as if the platform had it", "[fabric]")
{
  const double outside = step(R"("platform": "g4dn-12xlarge")");
  const double group = step(R"("platform": "g4dn-12xlarge", "fabric": "aws-placement-group")");
  CHECK(group < 0.8 * outside); // twice the rate of each flow
  CHECK(group == step(R"("platform": {"extends": "g4dn-12xlarge", "networks":
                         [{"nics": ["eth0"], "fabric": "aws-placement-group"}]})"));
  CHECK(outside == step(R"("platform": "g4dn-12xlarge", "fabric": "aws-vpc")"));
}

TEST_CASE("NCCL that sees the adapter of a cloud has connections enough", "[fabric]")
{
  CHECK(step(R"("platform": "g4dn-12xlarge")", "host-network") <
        0.7 * step(R"("platform": "g4dn-12xlarge")"));
}

TEST_CASE("Of several networks that is meant which jobs train over", "[fabric]")
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
