// How busy the parts and links of a node are, and how they are drawn.
#include "experiments/report/svg_node.hpp"
#include "experiments/run/simulate/sharing.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::node_use_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

const char* const kNode = R"({
  "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 1},
  "jobs": [{"model": "vgg16", "framework": "pytorch-horovod", "batch_per_gpu": 64, "gpus": 4}]})";

// The busiest of a node's links of a kind, in either direction.
double busiest(const NodeUse& node, const std::string& kind)
{
  double most = -1;
  for (const NodeUse::Link& link : node.links)
    if (link.kind == kind)
      most = std::max({most, link.utilisation, link.utilisation_back});
  return most;
}

} // namespace

TEST_CASE("A node's links are busy where its gradients pass")
{
  const PointResult bare = test::run_text(kNode);
  REQUIRE(bare.node);
  CHECK(bare.node->links.size() == 6 + 9 + 1 + 2); // NVLink; PCIe; between sockets; networks
  CHECK(busiest(*bare.node, "nvlink") > 0.01);
  CHECK(busiest(*bare.node, "pcie") == 0);
  CHECK(busiest(*bare.node, "network") == 0);

  // A guest that hides NVLink sends the same bytes through host memory.
  const PointResult guest =
      test::run_text(kNode, {{"/stack", R"({"host": "vm", "network": "sr-iov"})"}});
  REQUIRE(guest.node);
  CHECK(busiest(*guest.node, "nvlink") == 0);
  CHECK(busiest(*guest.node, "pcie") > 0.05);
}

TEST_CASE("What a node's picture tells is what the result's busiest resources tell")
{
  const PointResult point = test::run_text(kNode);
  REQUIRE(point.jobs.front().busiest.front().resource == "node0/gpu0/compute");
  const auto gpu = std::find_if(point.node->parts.begin(), point.node->parts.end(),
                                [](const auto& part) { return part.name == "gpu0"; });
  REQUIRE(gpu != point.node->parts.end());
  CHECK(gpu->utilisation.value() == point.jobs.front().busiest.front().utilisation);
}

TEST_CASE("The joint score weighs slowdowns by GPUs: sum of g s / sum of g, and g (1 - 1 / s) lost")
{
  std::vector<JobResult> jobs(2);
  jobs[0].gpus = 6;
  jobs[0].slowdown = 1.5;
  jobs[1].gpus = 2;
  jobs[1].slowdown = 1;
  const JointScore score = joint_score(jobs);
  CHECK_THAT(score.weighted_slowdown, test::is((6 * 1.5 + 2) / 8));
  CHECK_THAT(score.gpus_lost, test::is(6 * (1 - 1 / 1.5)));
  CHECK(score.gpus == 8);
  CHECK_FALSE(score.weighted_slowdown_range);
}

TEST_CASE("The joint score's range holds all jobs at their ends together", "[closed-form]")
{
  std::vector<JobResult> jobs(2);
  jobs[0].gpus = 6;
  jobs[0].slowdown = 1.5;
  jobs[0].slowdown_range = Range{1.5, 1.2, 2, 0.9};
  jobs[1].gpus = 2;
  jobs[1].slowdown = 1;
  CHECK_FALSE(joint_score(jobs).weighted_slowdown_range); // one is not known
  jobs[1].slowdown_range = Range{1, 0.8, 1.1, 0.9};
  const Range range = joint_score(jobs).weighted_slowdown_range.value();
  CHECK_THAT(range.median, test::is((6 * 1.5 + 2) / 8));
  CHECK_THAT(range.low, test::is((6 * 1.2 + 2 * 0.8) / 8));
  CHECK_THAT(range.high, test::is((6 * 2 + 2 * 1.1) / 8));
  CHECK(range.interval == 0.9);
}

TEST_CASE("Cores are busy with decoding and with what each GPU's process does while it computes",
          "[node-use][long]")
{
  const char* const reads = R"({
    "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 1},
    "jobs": [{"model": "resnet50", "framework": {"extends": "tensorflow-horovod"},
              "batch_per_gpu": 64, "gpus": 4,
              "input": {"format": "tfrecord", "cache": "warm", "threads": 24}}]})";
  const auto busy = [&](const char* threads) {
    const PointResult point = test::run_text(reads, {{"/jobs/0/framework/host_threads", threads}});
    return std::pair(40 * point.node->cores, point.jobs.front());
  };
  const auto [without, job] = busy("0");
  const auto [with, same] = busy("0.5");
  CHECK(same.throughput.median == Approx(job.throughput.median).epsilon(1e-6)); // cores are left
  const double computing = job.time.compute.value() / job.step_time.median;
  CHECK(with - without == Approx(4 * 0.5 * computing).epsilon(0.02));
}

TEST_CASE("A node's drawing has a box for each part, and colours links by their load")
{
  const NodeDrawing node{{{"socket0", "cpu", 0.1},
                          {"plx<0>", "pcie-switch", {}},
                          {"gpu0", "gpu", 0.9},
                          {"gpu1", "gpu", 0.2},
                          {"ib0", "adapter", {}}},
                         {{"pcie", "plx<0>", "socket0", 0.8, "up"},
                          {"pcie", "gpu0", "plx<0>", 0.3, "a"},
                          {"pcie", "gpu1", "plx<0>", 0.0, "b"},
                          {"pcie", "ib0", "socket0", 0.1, "c"},
                          {"nvlink", "gpu0", "gpu1", 0.6, "pair"},
                          {"network", "ib0", "EDR", 0.07, "out"},
                          {"pcie", "nowhere", "socket0", 1, "of no part"}},
                         "a node"};
  const std::string svg = node_drawing(node, 700);
  const auto count = [&svg](const std::string& what) {
    int times = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1))
      ++times;
    return times;
  };
  CHECK(count("class=\"case\"") == 5);
  CHECK(count("<path") == 6);
  CHECK_THAT(svg, Contains("plx&lt;0&gt;") && !Contains("plx<0>") && Contains("80 %"));
  CHECK_THAT(svg, Contains("link u4\"><title>up") && Contains("link u3\"><title>pair") &&
                      Contains("link u0\"><title>b"));
  CHECK(count("<g") == count("</g>"));
  CHECK(node_drawing({}, 700).empty());
  NodeDrawing loop = node; // a made-up file: a switch that is plugged into itself
  loop.links.push_back({"pcie", "socket0", "plx<0>", 0, "loop"});
  CHECK(node_drawing(loop, 700).size() < 10'000);
}

} // namespace foretrain::node_use_test
