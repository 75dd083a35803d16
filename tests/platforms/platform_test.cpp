#include "platforms/platform.hpp"

#include "platforms/machine.hpp"
#include "platforms/show.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <fstream>

namespace foretrain::platform_test {

using namespace foretrain::platforms;
using Catch::Matchers::Contains;

namespace {

std::string error_of(const std::string& patch)
{
  auto base = std::make_shared<Document>(
      *resolve_preset(std::string("generic-4gpu"), kPlatformKind).document());
  base->root.merge_patch(Json::parse(patch));
  try {
    load_platform(Value(std::shared_ptr<const Document>(base)));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("every bundled platform loads, has sources and a machine can be built of it",
          "[platforms]")
{
  for (const auto& name : preset_names(kPlatformKind)) {
    CAPTURE(name);
    const auto spec = load_platform(name);
    CHECK(spec.name == name);
    CHECK(spec.origin.json().contains("source"));
    sim::Engine engine;
    Stack stack{load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
                load_transport(resolve_preset(std::string("rdma"), kTransportKind))};
    const Machine machine(engine, spec, stack, 1);
    const int before = engine.resource_count(); // of the fabric: a node's come when asked for
    const sim::ResourceId cores = machine.cores(0);
    CHECK(engine.kind(cores) == sim::ResourceKind::cores);
    CHECK(engine.name(cores) == "node0/cores");
    CHECK(engine.resource_count() > before);
    CHECK(machine.cores(0) == cores);
  }
}

TEST_CASE("a node is described in under 60 lines", "[platforms]")
{
  std::ifstream file(data_root() / kPlatformKind.folder / "generic-4gpu.json");
  int lines = 0;
  for (std::string line; std::getline(file, line);)
    ++lines;
  CHECK(lines > 5);
  CHECK(lines < 60);
}

TEST_CASE("a platform that does not fit together is refused at the place", "[platforms]")
{
  using Case = std::pair<const char*, const char*>;
  const auto [patch, expected] = GENERATE(
      Case{R"({"node": {"gpus": {"on": ["socket0", "soket1"]}}})", "did you mean 'socket1'?"},
      Case{R"({"node": {"gpus": {"on": []}}})", "must name the place of 1 to 128 GPUs"},
      Case{R"({"node": {"gpus": {"type": "v100-pice-16gb"}}})", "did you mean 'v100-pcie-16gb'?"},
      Case{R"({"node": {"nvlink": {"all_pairs": 2}}})", "has no NVLink"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"}, "nvlink": {"pairs": [[0, 9, 1]]}}})",
           "must be [gpu, gpu, bricks]"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"}, "nvlink": {"all_pairs": 3}}})",
           "uses 9 bricks of GPU 0"},
      Case{R"({"networks": [{"nics": ["ib7"], "fabric": "sb7800-edr"}]})",
           "is not an adapter of the node"},
      Case{R"({"networks": [{"nics": [], "fabric": "sb7800-edr"}]})",
           "/networks/0/nics is an empty list: a network needs an adapter of the node"},
      Case{R"({"networks": [{"nics": ["eth0", "eth0"], "fabric": "sb7800-edr"}]})",
           "/networks/0/nics/1 is plugged in already: 'eth0'"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"}, "nvlink": {"pairs": [[0, 0, 1]]}}})",
           "must be [gpu, gpu, bricks] with two different GPUs from 0 to 3"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"}, "nvlink": {"pairs": [[0, 1, 0]]}}})",
           "at least one brick, got [0,1,0]"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"}, "nvlink": {"pairs": [[1, 2]]}}})",
           "/node/nvlink/pairs/0 must be [gpu, gpu, bricks]"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"},
                        "nvlink": {"pairs": [[0, 1, 6], [1, 2, 1]]}}})",
           "/node/nvlink uses 7 bricks of GPU 1, but a"},
      Case{R"({"node": {"gpus": {"type": "v100-sxm2"},
                        "nvlink": {"pairs": [[0, 1, 1]], "all_pairs": 1}}})",
           "/node/nvlink must have only one of all_pairs, pairs and nvswitch"},
      Case{R"({"node": {"gpus": {"type": {"extends": "v100-sxm2", "nvlink_brick": "0 GB/s"}},
                        "nvlink": {"all_pairs": 1}}})",
           "/node/nvlink is given, but a brick of the GPU"},
      Case{R"({"node": {"pcie_switches": [{"name": "socket0", "on": "socket0"}]}})",
           "must be a name of its own, got 'socket0'"},
      Case{R"({"node": {"pcie_switches": [{"name": "", "on": "socket0"}]}})",
           "must be a name of its own, got ''"},
      Case{R"({"node": {"pcie_switches": [{"name": "s", "on": "socket9"}]}})",
           "is not a socket or PCIe switch of this node: 'socket9'"},
      Case{R"({"networks": []})", "more than one node needs a fabric"},
      Case{R"({"node": {"gpus": {"type": {"name": "x", "memory": "8 GB",
              "memory_bandwidth": "1 TB/s", "multiprocessors": 8}}}})",
           "/node/gpus/type/fp32 is missing: the GPU has no rate in any precision"},
      Case{R"({"node": {"sockets": 0}})", "/node/sockets must be at least 1"},
      Case{R"({"node": {"cpu": "i5-6600"}})",
           "/socket_link is missing: the node has 2 sockets, and something joins them"},
      Case{R"({"node": {"cpu": {"extends": "epyc-7502", "socket_link": "0 B/s"}}})",
           "/socket_link is 0: the node has 2 sockets"},
      Case{R"({"node": {"memory": "256 Gb"}})", "has a unit that is not a size"},
      Case{R"({"node": {"memory": "1 B"}})", "/node/memory must be at least 1e+09 B, got"},
      Case{
          R"({"node": {"gpus": {"type": {"extends": "v100-sxm2-16gb", "peer_latency": "1e8 s"}}}})",
          "must be at most 10 s, got"},
      Case{R"({"nodes": 4})", "is not a known key"});
  CAPTURE(patch);
  CHECK_THAT(error_of(patch), Contains(expected));
}

TEST_CASE("a platform that says neither how many nodes there can be nor the server's name is of "
          "one or many nodes",
          "[platforms]")
{
  const auto with = [](const std::string& patch) {
    auto base = std::make_shared<Document>(
        *resolve_preset(std::string("generic-4gpu"), kPlatformKind).document());
    base->root.merge_patch(Json::parse(patch));
    return load_platform(Value(std::shared_ptr<const Document>(base)));
  };
  const auto joined = with(R"({"max_nodes": null, "node": {"name": null}})");
  CHECK(joined.max_nodes == 1024);
  CHECK(joined.node.name == "generic-4gpu");
  CHECK(with(R"({"max_nodes": null, "networks": null})").max_nodes == 1);
  CHECK(with(R"({"max_nodes": 3})").max_nodes == 3);
}

TEST_CASE("path classes follow the PCIe tree", "[platforms]")
{
  const NodeGraph dgx(load_platform("dgx1-v100"));
  CHECK(dgx.classify(dgx.gpu(0), dgx.gpu(0)) == PathClass::self);
  CHECK(dgx.classify(dgx.gpu(0), dgx.gpu(3)) == PathClass::nvlink);
  CHECK(dgx.classify(dgx.gpu(0), dgx.nic(0)) == PathClass::pix);
  CHECK(dgx.classify(dgx.gpu(0), dgx.nic(1)) == PathClass::phb);
  CHECK(dgx.classify(dgx.gpu(0), dgx.gpu(5)) == PathClass::sys);
  CHECK(dgx.bricks(0, 3) == 2);
  CHECK(dgx.bricks(0, 5) == 0);
}

TEST_CASE("bisections are the cuts they should be", "[platforms][closed-form]")
{
  // K4 with 2 bricks of 25 GB/s: 4 pairs across, and PCIe: two root ports or one socket link.
  const auto spec = load_platform("c4140-k-v100-sxm2");
  const double pcie = pcie_bandwidth(3, 16, Bytes(128)).value();
  CHECK_THAT(node_bisection(spec).value(), test::is(4 * 2 * 25e9 + 2 * pcie));
  const PlatformSpec rack = load_platform("gb200-nvl72"); // too many halves to try
  const double nvlink = 36 * rack.gpu.nvlink_bricks * rack.gpu.nvlink_brick.value();
  CHECK(node_bisection(rack).value() >= nvlink);
  CHECK(node_bisection(rack).value() < 1.1 * nvlink);
  CHECK_THAT(cluster_bisection(spec, 8).value(), test::is(4 * 12.5e9));
  PlatformSpec faster = spec; // than what joins its GPUs to the adapter, one x16
  faster.nics[0].rate = BytesPerSecond(25e9);
  CHECK_THAT(cluster_bisection(faster, 8).value(), test::is(4 * pcie));
}

TEST_CASE("exports hold every GPU and are well-formed enough to read back", "[platforms]")
{
  const auto spec = load_platform("c4140-m-v100-sxm2");
  const auto xml = to_simgrid_xml(spec, 2);
  CHECK_THAT(xml, Contains("<host id=\"node1/gpu3\""));
  CHECK_THAT(xml, Contains("<route src=\"node0/gpu0\" dst=\"node1/gpu0\""));
  CHECK_THAT(to_graphviz(spec), Contains("\"gpu0\" -- \"gpu1\""));
  CHECK_THAT(to_simgrid_xml(load_platform("nthu-gtx1080"), 2), // no RDMA anywhere
             Contains("<link_ctn id=\"node0/eth0/tx\"/>"));
}

TEST_CASE("an adapter runs at the rate of its port, where that is clearly slower", "[platforms]")
{
  const auto with = [](const char* rate) {
    auto document = std::make_shared<Document>(
        *resolve_preset(std::string("generic-4gpu"), kPlatformKind).document());
    document->root["node"]["nics"][0]["type"] = {{"extends", "ethernet-10g"}, {"rate", rate}};
    document->root["networks"][0]["fabric"] = {{"extends", "ethernet-10g"}};
    return load_platform(Value(std::shared_ptr<const Document>(document)));
  };
  CHECK(with("40 Gb/s").nics[0].rate.value() == Approx(1.25e9));
  CHECK(with("40 Gb/s").nics[0].line.value() == Approx(5e9));
  CHECK_THAT(with("40 Gb/s").remarks.at(0), Contains("5 GB/s") && Contains("1.25 GB/s of a port"));
  for (const char* as_it_is : {"1 Gb/s", "10 Gb/s", "11 Gb/s"}) // the last one as measured
    CHECK(with(as_it_is).remarks.empty());
  CHECK(with("1 Gb/s").nics[0].rate.value() == Approx(1.25e8));
}

TEST_CASE("ports whose rate is not told are as fast as the adapters", "[platforms]")
{
  auto document = std::make_shared<Document>(
      *resolve_preset(std::string("generic-4gpu"), kPlatformKind).document());
  document->root["networks"][0]["fabric"] = {{"name", "cloud"}, {"ports", 64}};
  const PlatformSpec spec = load_platform(Value(std::shared_ptr<const Document>(document)));
  CHECK(spec.fabrics[0].port_rate == spec.nics[0].line);
  CHECK(spec.nics[0].rate == spec.nics[0].line);
  CHECK(spec.remarks.empty());
}

TEST_CASE("what hangs on a socket is no faster than the CPU's lanes", "[platforms]")
{
  const auto read = [](const std::string& node) {
    auto document = std::make_shared<Document>(
        *resolve_preset(std::string("generic-4gpu"), kPlatformKind).document());
    document->root.merge_patch(Json::parse(R"({"node": )" + node + "}"));
    return load_platform(Value(std::shared_ptr<const Document>(document)));
  };
  const std::string switches = R"("pcie_switches": [{"name": "upper", "on": "socket0"},
    {"name": "lower", "on": "upper"}], "gpus": {"type": "a100-pcie-80gb",
    "on": ["upper", "lower", "lower", "upper"]})";
  const std::string plugged = R"("gpus": {"type": "a100-pcie-80gb",
    "on": ["socket0", "socket0", "socket0", "socket0"]})";
  const std::string nic =
      R"(, "nics": [{"name": "eth0", "type": "connectx6-hdr", "on": "socket0"}])";
  const auto third = read(R"({"cpu": {"extends": "xeon-gold-6148", "pcie_generation": 3}, )" +
                          switches + nic + "}");
  CHECK(third.node.pcie_switches[0].generation == 3);
  CHECK(third.node.pcie_switches[1].generation == 4); // under a switch: as its GPUs
  CHECK(third.gpu.pcie_generation == 4);
  CHECK(third.nics[0].pcie_generation == 3);
  const auto fifth =
      read(R"({"cpu": {"extends": "xeon-gold-6148", "pcie_generation": 5}, )" + switches + "}");
  CHECK(fifth.node.pcie_switches[0].generation == 4); // the GPUs' own
  const auto alone = [&](int generation) {
    return read(R"({"cpu": {"extends": "xeon-gold-6148", "pcie_generation": )" +
                std::to_string(generation) + "}, " + plugged + "}")
        .gpu.pcie_generation;
  };
  CHECK(alone(3) == 3);
  CHECK(alone(5) == 4);
}

TEST_CASE("one PCIe switch between two parts is near, two in a row are less so", "[platforms]")
{
  auto document = std::make_shared<Document>(
      *resolve_preset(std::string("generic-4gpu"), kPlatformKind).document());
  document->root.merge_patch(Json::parse(R"({"node": {
    "pcie_switches": [{"name": "upper", "on": "socket0"}, {"name": "lower", "on": "upper"}],
    "gpus": {"on": ["upper", "lower", "lower", "socket1"]}}})"));
  const NodeGraph node(load_platform(Value(std::shared_ptr<const Document>(document))));
  CHECK(node.classify(node.gpu(1), node.gpu(2)) == PathClass::pix);
  CHECK(node.classify(node.gpu(0), node.gpu(1)) == PathClass::pxb);
}

} // namespace foretrain::platform_test
