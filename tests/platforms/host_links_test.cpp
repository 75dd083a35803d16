#include "platforms/host_links.hpp"

#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::host_links_test {

using namespace foretrain::platforms;
using test::stack_of;
using test::weight_of;

TEST_CASE("processes of nodes go round through adapters, those of GPUs through sockets of a node",
          "[host-links]")
{
  const auto spec = load_platform(std::string("hkbu-2080ti"));
  sim::Engine engine;
  const Machine machine(engine, spec, stack_of("tcp"), 2);
  const std::vector<GpuPlace> ranks{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const double wire = wire_expansion(machine.framing());

  const auto nodes = make_host_links(machine, ranks, true, "job");
  REQUIRE(nodes.processes() == 2);
  CHECK(nodes.local[0].ranks == 2);
  for (const std::string node : {"node0/", "node1/"}) {
    const std::size_t at = node == "node0/" ? 0 : 1;
    CHECK_THAT(weight_of(nodes.next[at], engine, node + "eth0/tx"),
               Catch::Matchers::WithinRel(wire, 0.1));
    CHECK_THAT(weight_of(nodes.next[1 - at], engine, node + "eth0/rx"),
               Catch::Matchers::WithinRel(wire, 0.1));
  }

  const auto gpus = make_host_links(machine, ranks, false, "job");
  REQUIRE(gpus.processes() == 4);
  CHECK(weight_of(gpus.next[0], engine, "node0/eth0/tx") == 0);
  CHECK(weight_of(gpus.next[1], engine, "node0/eth0/tx") > 1);
  CHECK(weight_of(gpus.next[2], engine, "node1/eth0/tx") == 0);
  CHECK(weight_of(gpus.next[3], engine, "node1/eth0/tx") > 1);
  CHECK(gpus.local[0].ranks == 1);
}

TEST_CASE("every GPU of a process copies its whole buffer, or the first alone", "[host-links]")
{
  const auto spec = load_platform(std::string("c4140-k-v100-sxm2"));
  sim::Engine engine;
  const Machine machine(engine, spec, stack_of("ipoib"), 2);
  const auto links =
      make_host_links(machine, {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}, true, "job");
  for (const auto& [first, all] : {std::pair{links.first_to_host, links.all_to_host},
                                   std::pair{links.first_to_device, links.all_to_device}})
    for (std::size_t p = 0; p < 2; ++p) {
      double one = 0;
      double three = 0;
      for (const sim::Use& use : first[p].uses)
        one += use.weight;
      for (const sim::Use& use : all[p].uses)
        three += use.weight;
      CHECK_THAT(three, test::is(3 * one));
      CHECK(first[p].latency == all[p].latency);
    }
}

TEST_CASE("sockets of one node take core time at both ends and cap a connection", "[host-links]")
{
  const auto spec = load_platform(std::string("hkbu-2080ti"));
  sim::Engine engine;
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  const double work = 3e-6 / 65536 + (1 + 0.5) / 10.5e9; // of the transport's file
  const sim::Hop hop = loopback_hop(machine, 0, 0.5);
  CHECK_THAT(hop.cap, test::is(1 / work));
  CHECK_THAT(loopback_work(machine.stack().transport, 0.5), test::is(work));
  CHECK_THAT(weight_of(hop, engine, engine.name(machine.cores(0))), test::is(2 * work));
  CHECK_THAT(weight_of(hop, engine, engine.name(machine.dram(0, 0))), test::is(4 * 1.5));
}

} // namespace foretrain::host_links_test
