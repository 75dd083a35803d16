#include "models/collectives/choice.hpp"

#include "models/collectives/tuning.hpp"
#include "sim/base/catalog.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

namespace foretrain::choice_test {

using namespace foretrain::models;

namespace {

sim::Communicator nodes_of_four(int nodes, sim::Reach inside)
{
  sim::Communicator comm;
  comm.nodes = nodes;
  comm.ranks = 4 * nodes;
  sim::Channel channel;
  for (int r = 0; r < comm.ranks; ++r) {
    sim::Hop hop;
    hop.reach = r % 4 == 3 ? sim::Reach::network : inside;
    channel.hops.push_back(hop);
  }
  comm.channels = {channel};
  comm.ring_graph = {1, 20e9, 12e9, inside == sim::Reach::nvlink, true, false};
  comm.tree_graph = comm.ring_graph;
  return comm;
}

} // namespace

TEST_CASE("NCCL 2.4 takes trees below its threshold and rings above it", "[choice]")
{
  Library library;
  library.estimate = Estimate::nccl_2_4;
  Protocol simple;
  simple.name = "Simple";
  const auto takes = [&](const sim::Communicator& comm, Family family, double size) {
    const Offer offer{family, &simple, Seconds(1e-5), 1e9};
    return std::isfinite(expected_time(library, comm, offer, Operation::all_reduce, size));
  };
  // Two nodes of four GPUs over PCIe: 5000 x 3333 / 1667 bytes per us x (42 - 27) us.
  const auto pcie = nodes_of_four(2, sim::Reach::pcie);
  CHECK(takes(pcie, Family::tree, 149999));
  CHECK_FALSE(takes(pcie, Family::ring, 149999));
  CHECK_FALSE(takes(pcie, Family::tree, 150001));
  CHECK(takes(pcie, Family::ring, 150001));
  // Over NVLink on two nodes a tree is expected to be faster whatever the size.
  CHECK(takes(nodes_of_four(2, sim::Reach::nvlink), Family::tree, 1e12));
  CHECK_FALSE(takes(nodes_of_four(2, sim::Reach::nvlink), Family::ring, 1e12));
  // Inside one node the rule says nothing.
  CHECK(takes(nodes_of_four(1, sim::Reach::pcie), Family::ring, 8));
}

TEST_CASE("versions from 2.5 on choose by their own model", "[choice]")
{
  // 2.18 on 4 nodes of 4 GPUs over NVLink, a channel of 20 GB/s inside and 12 between. Tree: half
  // of 92 % of 12, no more than 10 GB/s a channel; (4 - 1) x 4 + 2 x 14 us up, the same down.
  Library library;
  library.estimate = Estimate::nccl_2_5;
  Protocol simple;
  simple.name = "Simple";
  const auto comm = nodes_of_four(4, sim::Reach::nvlink);
  const auto expects = [&](Family family, double size) {
    const Offer offer{family, &simple, Seconds(0), 1e9};
    return expected_time(library, comm, offer, Operation::all_reduce, size);
  };
  CHECK_THAT(expects(Family::tree, 1e12), test::is(80e-6 + 1e12 / 5e9));
  // Less at medium sizes: 64 KiB are 2^10 times 64 bytes.
  CHECK_THAT(expects(Family::tree, 65536), test::is(80e-6 + 65536 / (0.6 * 5e9)));
  // Ring: 8 steps between nodes of 14 us, 22 inside of 3.4, and 1.9 times that on a plateau.
  const double latency = 1.9 * (8.4 + 22 * 3.4 + 8 * 14) * 1e-6;
  CHECK_THAT(expects(Family::ring, 1e9), test::is(latency + 1e9 / (12e9 * 16 / 30)));
}

namespace {

sim::GraphAssumption graph_of(const nlohmann::json& row)
{
  if (row.is_null())
    return {};
  const auto reach = row[3].get<std::string>();
  return {row[0].get<int>(),
          row[1].get<double>() * 1e9,
          row[2].get<double>() * 1e9,
          reach == "NVL" || reach == "NVB" || reach == "LOC",
          true,
          false};
}

} // namespace

TEST_CASE("latencies and bandwidths as NCCL's own code has them", "[choice][oracle]")
{
  std::ifstream in(data_root() / "tests/platforms/data/nccl-graphs.json");
  const auto oracle = nlohmann::json::parse(in);
  int checked = 0;
  for (const auto& row : oracle["cases"]) {
    const int version = row["version"].get<int>();
    const auto platform = row["platform"].get<std::string>();
    if (!row.contains("expects") || (version < 2800 && platform == "dgx-a100") ||
        row["gpus"].get<int>() == 1)
      continue;
    sim::Communicator comm;
    comm.nodes = row["nodes"].get<int>();
    comm.ranks = row["gpus"].get<int>() * comm.nodes;
    comm.ring_graph = graph_of(row["ring"]);
    comm.tree_graph = graph_of(row["tree"]);
    comm.tree_graph.simple_tree = platform == "hgx-h100"; // what the search falls back to on Hopper
    comm.switch_graph = graph_of(row["switch"]);
    comm.compute_capability = platform == "hgx-h100"      ? 9
                              : platform == "dgx-a100"    ? 8
                              : platform == "hkbu-2080ti" ? 7.5
                                                          : 7;
    comm.amd_hosts = platform == "dgx-a100";
    for (const auto& [name, wanted] : row["expects"].items()) {
      CAPTURE(platform, row["gpus"].dump(), comm.nodes, version, name);
      if (name.starts_with("NVLS"))
        continue;
      const Family family = name.starts_with("Tree") ? Family::tree : Family::ring;
      const ProtocolKind kind = name.ends_with("LL")      ? ProtocolKind::ll
                                : name.ends_with("LL128") ? ProtocolKind::ll128
                                                          : ProtocolKind::simple;
      const auto found = expectation(version, comm, Operation::all_reduce, family, kind);
      REQUIRE(found);
      CHECK_THAT(found->latency * 1e6, Catch::Matchers::WithinRel(wanted[0].get<double>(), 0.01));
      CHECK_THAT(found->bandwidth / 1e9, Catch::Matchers::WithinRel(wanted[1].get<double>(), 0.01));
      ++checked;
    }
  }
  CHECK(checked > 200);
}

TEST_CASE("NCCL expects a tree between switches to lead up and down", "[choice][closed-form]")
{
  sim::Communicator comm = nodes_of_four(8, sim::Reach::nvlink);
  comm.switch_graph = {4, 20e9, 12e9, true, true, false};
  const auto found =
      expectation(22000, comm, Operation::all_reduce, Family::in_switch, ProtocolKind::simple);
  REQUIRE(found);
  // 23 us for the switch, then 14 us for each of three levels, twice.
  CHECK_THAT(found->latency, test::is(23e-6 + 2 * 3 * 14e-6));
  CHECK_THAT(found->bandwidth, test::is(4 * 6e9 * 5 / 6)); // nodes share half an adapter
}

} // namespace foretrain::choice_test
