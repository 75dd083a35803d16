// The search for graphs against what NCCL's own code decides: tests/platforms/data/nccl-graphs.json
// was made by running NCCL's sources, none of it by this program. What the rows rest on:
//   * A DGX-1 V100 has six NVLinks per GPU. Rings need two of each GPU in use, both directions:
//     the first 4 GPUs close 4 rings, the first 8 close 6. The first 5 close none, since GPU 4
//     has links to GPU 0 only: until 2.8 a ring crosses PCIe, while a tree, which need not close,
//     stays on NVLink; from 2.9 on a ring comes back over a GPU between (NVB).
//   * Between nodes a ring has as much inside as at the adapter (12 GB/s for 100 Gb/s); a tree's
//     chain inside may have up to twice that.
//   * Through NVSwitch the links of a GPU are one bundle: 12 x 20 GB/s on A100, split into 12.
#include "platforms/graph_search.hpp"

#include "platforms/machine.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <numeric>

#include <nlohmann/json.hpp>

namespace foretrain::graph_search_test {

using namespace foretrain::platforms;
using test::stack_of;

namespace {

nlohmann::json oracle()
{
  std::ifstream in(data_root() / "tests/platforms/data/nccl-graphs.json");
  return nlohmann::json::parse(in);
}

CollectiveGraphs search(const PlatformSpec& spec, const std::vector<int>& gpus, bool between,
                        int version, const char* network = "rdma")
{
  const Stack stack = stack_of(network);
  return search_graphs(spec, NodeGraph(spec), stack, gpus,
                       between ? find_network(spec, stack.transport).nics : std::vector<int>{},
                       {version});
}

void check(const CollectiveGraph& graph, const nlohmann::json& wanted)
{
  if (wanted.is_null()) {
    CHECK(graph.channels == 0);
    return;
  }
  CHECK(graph.channels == wanted[0].get<int>());
  CHECK(graph.bandwidth_inside == wanted[1].get<double>());
  CHECK(graph.bandwidth_between == wanted[2].get<double>());
  CHECK(short_name(graph.reach_inside) == wanted[3].get<std::string>());
}

} // namespace

TEST_CASE("rings, trees and in-switch reduction as NCCL's code finds them",
          "[graphs][oracle][long]")
{
  const auto table = oracle();
  for (const auto& row : table["cases"]) {
    CAPTURE(row.dump());
    const auto spec = load_platform(row["platform"].get<std::string>());
    std::vector<int> gpus(row["gpus"].get<std::size_t>());
    std::iota(gpus.begin(), gpus.end(), 0);
    const auto graphs = search(spec, gpus, row["nodes"].get<int>() > 1, row["version"].get<int>());
    check(graphs.ring, row["ring"]);
    check(graphs.tree, row["tree"]);
    check(graphs.in_switch, row["switch"]);
  }
}

TEST_CASE("from 2.20 on two rings take the same two adapters in turn", "[graphs][closed-form]")
{
  const std::vector<int> gpus{0, 1, 2, 3, 4, 5, 6, 7};
  const auto spec = load_platform("hgx-h100");
  const auto ring = search(spec, gpus, true, 22707).ring;
  // As NCCL 2.27.7, run, has them.
  CHECK(ring.orders.at(0) == std::vector{0, 7, 6, 5, 4, 3, 2, 1});
  CHECK(ring.orders.at(1) == std::vector{1, 2, 3, 4, 5, 6, 7, 0});
  CHECK(ring.orders.at(7) == std::vector{7, 0, 1, 2, 3, 4, 5, 6});
  for (std::size_t c = 0; c < 8; c += 2)
    CHECK(ring.nics[c] == std::array{ring.nics[c + 1][1], ring.nics[c + 1][0]});
  for (const auto& [in, out] : search(spec, gpus, true, 21806).ring.nics)
    CHECK(in == out);
}

TEST_CASE("one GPU of a node keeps to its own adapter", "[graphs][closed-form]")
{
  // Past PXN another reach is tried only where nothing was found (ncclTopoCompute); a GPU on PCIe
  // 5.0 could feed two adapters of 200 Gb/s, and the second one is behind the host's bridge.
  const auto spec = load_platform("a3-mega");
  for (const int gpu : {0, 3})
    for (const int version : {20800, 21806, 22707}) {
      const auto graphs = search(spec, {gpu}, true, version);
      for (const CollectiveGraph* graph : {&graphs.ring, &graphs.tree}) {
        CHECK(graph->reach_between == PathReach::pix);
        for (const auto& [in, out] : graph->nics)
          CHECK((in == graph->nics.front()[0] && out == in));
      }
    }
}

TEST_CASE("every subset of a DGX-1 V100 as NCCL's code has it", "[graphs][oracle]")
{
  // On Xeons of the Skylake generation, as the machine that the table is of.
  auto document = std::make_shared<Document>(
      *resolve_preset(std::string("dgx1-v100"), kPlatformKind).document());
  document->root["node"]["cpu"] = "xeon-platinum-8168";
  const auto spec = load_platform(Value(std::shared_ptr<const Document>(document)));
  const auto table = oracle();
  for (const auto& row : table["dgx1_subsets"]) {
    CAPTURE(row.dump());
    const auto graphs =
        search(spec, row["gpus"].get<std::vector<int>>(), false, row["version"].get<int>());
    CHECK(graphs.ring.channels == row["ring"][0].get<int>());
    CHECK(graphs.ring.bandwidth_inside == row["ring"][1].get<double>());
    CHECK(graphs.tree.channels == row["tree"][0].get<int>());
    CHECK(graphs.tree.bandwidth_inside == row["tree"][1].get<double>());
  }
}

TEST_CASE("a search gives back all the bandwidth that it tried", "[graphs][property]")
{
  const auto spec = load_platform("dgx1-v100");
  const std::vector<int> gpus{0, 1, 2, 3, 4, 5, 6, 7};
  const auto once = search(spec, gpus, true, 21806);
  const auto again = search(spec, gpus, true, 21806);
  CHECK(once.ring.orders == again.ring.orders);
  CHECK(once.tree.orders == again.tree.orders);
  for (const auto& order : once.tree.orders) {
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == gpus);
  }
}

namespace {

void check_bundled(const std::vector<int>& versions, std::size_t most)
{
  for (const std::string& name : preset_names(kPlatformKind)) {
    const auto spec = load_platform(resolve_preset(name, kPlatformKind));
    if (spec.gpus_per_node() < 2 || static_cast<std::size_t>(spec.gpus_per_node()) > most)
      continue;
    std::vector<int> gpus(static_cast<std::size_t>(spec.gpus_per_node()));
    std::iota(gpus.begin(), gpus.end(), 0);
    const bool wired = find_network(spec, stack_of("rdma").transport).index >= 0;
    for (const bool between : {false, true})
      for (const int version : versions) {
        const bool vast = gpus.size() > 16; // takes seconds, and is of the newest version only
        if ((between && !wired) || (vast && version < 22703))
          continue;
        CAPTURE(name, between, version);
        const auto graphs = search(spec, gpus, between, version);
        REQUIRE(graphs.ring.channels > 0);
        for (const auto& graph : {graphs.ring, graphs.tree, graphs.in_switch})
          for (auto order : graph.orders) {
            std::sort(order.begin(), order.end());
            CHECK(order == gpus);
          }
      }
  }
}

} // namespace

TEST_CASE("every bundled machine has a ring through all of its GPUs, alone and between nodes",
          "[graphs][property][many]")
{
  check_bundled({20408, 21806, 22703}, 1000);
}

TEST_CASE("every small bundled machine has a ring through all of its GPUs",
          "[graphs][property][long]")
{
  check_bundled({20408, 22703}, 4);
}

TEST_CASE("without GPUDirect no adapter is nearer than the host's bridge", "[graphs][closed-form]")
{
  // Each socket's bridge has two PCIe switches below it, each with two GPUs and, on two of the
  // four, an adapter. From one GPU to the bridge and down to the adapter, and back from the other
  // adapter: 12 GB/s of PCIe, of which Intel's bridges leave 12 x 5 / 6.
  const auto spec = load_platform("dgx1-v100-2x100gbe");
  const std::vector<int> gpus{0, 1, 2, 3, 4, 5, 6, 7};
  for (const char* network : {"tcp", "rdma-staged"}) {
    CAPTURE(network);
    const auto graphs = search(spec, gpus, true, 21806, network);
    CHECK(graphs.ring.reach_between == PathReach::phb);
    CHECK(graphs.tree.reach_between == PathReach::phb);
    CHECK(graphs.ring.channels == 2);
    CHECK(graphs.ring.bandwidth_between == 10);
    // Before 2.6 the search did not know.
    CHECK(search(spec, gpus, true, 2408, network).ring.reach_between == PathReach::pix);
  }
  const auto direct = search(spec, gpus, true, 21806);
  CHECK(direct.ring.reach_between == PathReach::pix);
  CHECK(direct.ring.bandwidth_between == 12);
}

} // namespace foretrain::graph_search_test
