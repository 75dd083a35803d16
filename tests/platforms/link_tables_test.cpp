// What single copies and connections reach, as benchmarks of links measure them.
#include "platforms/link_tables.hpp"

#include "platforms/node_graph.hpp"
#include "platforms/platform.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::link_tables_test {

using namespace foretrain::platforms;
using test::stack_of;

TEST_CASE("a GPU's copies fill its slot, and those of four the uplink that they share",
          "[platforms][closed-form]")
{
  const PlatformSpec behind = load_platform("c4140-k-v100-sxm2"); // one switch, one uplink
  const Stack stack = stack_of("rdma");
  const HostCopies one = host_copies(behind, stack, 0);
  const HostCopies all = all_host_copies(behind, stack);
  CHECK_THAT(one.pinned,
             test::is(pcie_bandwidth(3, 16, behind.node.pcie_max_payload).value() / 1e9));
  CHECK_THAT(all.pinned, test::is(one.pinned));
  CHECK_THAT(all.back, test::is(one.back));
  CHECK(one.pageable < one.pinned);
  CHECK(all.pageable > one.pageable); // a thread for each GPU
  CHECK(one.latency == behind.gpu.copy_latency + behind.gpu.host_hop_latency);

  const PlatformSpec apart = load_platform("c4140-c-v100-pcie"); // a slot of a socket for each
  CHECK_THAT(all_host_copies(apart, stack).pinned,
             test::is(4 * host_copies(apart, stack, 0).pinned));
}

TEST_CASE("one connection is held by its core, many by the adapter", "[platforms][closed-form]")
{
  const PlatformSpec spec = load_platform("c4140-k-v100-sxm2");
  const auto rdma = connections(spec, stack_of("rdma"));
  REQUIRE(rdma.size() == 1);
  CHECK(rdma[0].nic == "ib0");
  CHECK(rdma[0].one > 0.95 * 12.5);
  CHECK(rdma[0].one < 12.5);
  CHECK_THAT(rdma[0].many, test::is(rdma[0].one));
  CHECK(rdma[0].duplex > 1.5 * rdma[0].one);
  CHECK(rdma[0].latency < Seconds(3e-6));
  const auto ipoib = connections(spec, stack_of("ipoib"));
  REQUIRE(ipoib.size() == 1);
  CHECK(ipoib[0].one < 0.6 * rdma[0].one);
  CHECK(ipoib[0].many > 1.5 * ipoib[0].one);
  CHECK(ipoib[0].many <= rdma[0].many);
  CHECK(ipoib[0].latency > rdma[0].latency);
  const auto tcp = connections(spec, stack_of("tcp"));
  REQUIRE(tcp.size() == 1);
  CHECK(tcp[0].nic == "eth0");
  CHECK_THAT(tcp[0].one, test::is(0.125 * 1448 / 1538)); // headers and gaps between frames
}

TEST_CASE("what has no second node or no GPU has no such table", "[platforms]")
{
  PlatformSpec alone = load_platform("c4140-k-v100-sxm2");
  alone.max_nodes = 1;
  CHECK(connections(alone, stack_of("rdma")).empty());
  CHECK(connections_text(alone, stack_of("rdma")).empty());
  CHECK(host_copies_text(load_platform("r740xd-head"), stack_of("tcp")).empty());
}

} // namespace foretrain::link_tables_test
