#include "models/collectives/choice.hpp"

#include "tests/support/catch.hpp"

#include <cmath>

using namespace foretrain;
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
  return comm;
}

} // namespace

TEST_CASE("NCCL 2.4 takes trees below its threshold and rings above it", "[choice]")
{
  Library library;
  library.estimate = "nccl-2.4";
  Protocol simple;
  simple.name = "Simple";
  const auto takes = [&](const sim::Communicator& comm, Family family, double size) {
    const Offer offer{family, &simple, Seconds(1e-5), 1e9, 2e9};
    return std::isfinite(expected_time(library, comm, offer, size));
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

TEST_CASE("later versions expect half of the bus bandwidth of a tree", "[choice]")
{
  Library library;
  library.estimate = "nccl-2.5";
  Protocol simple;
  simple.name = "Simple";
  const auto comm = nodes_of_four(4, sim::Reach::pcie);
  const Offer tree{Family::tree, &simple, Seconds(0), 1e9, 2e9};
  CHECK_THAT(expected_time(library, comm, tree, 1e12), test::is(1e12 / (0.5 * 0.92 * 2e9)));
  // Less at medium sizes: 64 KiB are 2^10 times 64 bytes.
  CHECK_THAT(expected_time(library, comm, tree, 65536), test::is(65536 / (0.6 * 0.5 * 0.92 * 2e9)));
  const Offer ring{Family::ring, &simple, Seconds(1e-5), 1e9, 2e9};
  CHECK_THAT(expected_time(library, comm, ring, 1e6), test::is(1e-5 + 1e-3));
}
