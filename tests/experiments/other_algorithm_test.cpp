#include "experiments/run/limits/other_algorithm.hpp"

#include "experiments/run/scenario.hpp"
#include "tests/experiments/remark_of.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::other_algorithm_test {

using namespace foretrain::experiments;
using Catch::Contains;

namespace {

Point point_on(int gpus, const std::string& network, const std::string& framework)
{
  Point point;
  point.document = parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2"},
    "stack": {"network": ")" + network +
                                      R"("}, "jobs": [{"name": "mine", "model": "vgg16",
    "framework": )" + framework + R"(, "precision": "fp16", "batch_per_gpu": 64, "gpus": )" +
                                      std::to_string(gpus) + "}]}",
                                  "test");
  return point;
}

std::string remark(int gpus, const std::string& network,
                   const std::string& framework = R"("pytorch-ddp")")
{
  return test::remark_of(point_on(gpus, network, framework), remark_algorithm);
}

} // namespace

TEST_CASE("a library that takes the slower algorithm is told, with the variable that changes it",
          "[explain]")
{
  // NCCL takes a ring on three nodes: one connection carries it, two a tree.
  const std::string found = remark(12, "ipoib");
  CHECK_THAT(found, Contains("mine: NCCL") && Contains("NCCL_ALGO=Tree"));
  const std::string forced = R"({"extends": "pytorch-ddp", "algorithm": "tree"})";
  const double ring = point_throughputs(point_on(12, "ipoib", R"("pytorch-ddp")"), {}).front();
  const double tree = point_throughputs(point_on(12, "ipoib", forced), {}).front();
  const auto at = found.find("would be ") + 9;
  CHECK_THAT(std::stod(found.substr(at)), Catch::WithinAbs(100 * (tree / ring - 1), 5));
  CHECK(tree / ring > 1.5);
  CHECK(remark(12, "ipoib", forced).empty()); // who names an algorithm is not told of others
}

TEST_CASE("nothing is said of algorithms where little is waited for, or the best one is taken",
          "[explain]")
{
  CHECK(remark(8, "ipoib").empty()); // a tree
  CHECK(remark(12, "rdma").empty()); // hidden
  CHECK(remark(12, "ipoib", R"("tensorflow-ps")").empty());
}

} // namespace foretrain::other_algorithm_test
