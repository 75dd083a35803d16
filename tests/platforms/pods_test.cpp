// A pod for each GPU, and tunnels that are one flow.
#include "platforms/rings.hpp"
#include "platforms/show.hpp"

#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

#include <set>

namespace foretrain::pods_test {

using namespace foretrain::platforms;
using test::weight_of;

namespace {

Stack stack(const char* host, const char* network)
{
  return {load_host(resolve_preset(std::string(host), kHostKind)),
          load_transport(resolve_preset(std::string(network), kTransportKind))};
}

PlatformSpec platform(const char* name, const char* fabric = nullptr)
{
  auto document =
      std::make_shared<Document>(*resolve_preset(std::string(name), kPlatformKind).document());
  if (fabric != nullptr)
    document->root["networks"][0]["fabric"] = fabric;
  return load_platform(Value(std::shared_ptr<const Document>(document)));
}

sim::Communicator communicator(const Machine& machine, int gpus)
{
  std::vector<GpuPlace> ranks;
  for (int node = 0; node < machine.nodes(); ++node)
    for (int gpu = 0; gpu < gpus; ++gpu)
      ranks.push_back({node, gpu});
  return make_communicator(machine, ranks, "test", {});
}

} // namespace

TEST_CASE("GPUs in pods of their own are machines to a library of collectives", "[rings][pods]")
{
  sim::Engine engine;
  const PlatformSpec spec = platform("g4dn-12xlarge");
  const Machine together(engine, spec, stack("container", "calico"), 2);
  CHECK(communicator(together, 4).nodes == 2);
  const Machine apart(engine, spec, stack("pod-per-gpu", "calico"), 2);
  const sim::Communicator comm = communicator(apart, 4);
  CHECK(comm.nodes == 8);
  CHECK(comm.node_of == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  // One ring in the order of ranks: two of its hops leave the machines.
  for (const sim::Channel& channel : comm.channels) {
    REQUIRE(channel.ring == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    for (const sim::Hop& hop : channel.hops) {
      CHECK(hop.reach == sim::Reach::network);
      const bool leaves = weight_of(hop, engine, "node0/eth0/tx") > 0.5 ||
                          weight_of(hop, engine, "node1/eth0/tx") > 0.5;
      CHECK(leaves == (hop.from == 3 || hop.from == 7));
    }
  }
  // By trees, too, whatever the ranks.
  CHECK(comm.connect_tree(1, 2, 0).reach == sim::Reach::network);
  CHECK(weight_of(comm.connect_tree(1, 2, 0), engine, "node0/eth0/tx") == 0);
  CHECK(weight_of(comm.connect_tree(1, 6, 0), engine, "node0/eth0/tx") > 0.5);
  CHECK(comm.relay(0, 1, 0).cap == comm.connect(0, 1, 0).cap);
}

TEST_CASE("pods of one machine exchange whole segments through its memory", "[hops][pods]")
{
  sim::Engine engine;
  const Stack pods = stack("pod-per-gpu", "calico-ipip");
  const Machine machine(engine, platform("g4dn-12xlarge"), pods, 1);
  const sim::Hop hop = machine.hop({0, 1}, {0, 2}, Mover::collective);
  // TCP's and the routes' work on a segment of 64 KiB, no tunnel, no packets, and a copy.
  const double segment = 3e-6 + 0.2e-6 + 1.1e-6;
  const double end = pods.host.cpu_overhead * (segment / 65536 + 1 / 10.5e9);
  CHECK_THAT(hop.cap, test::is(1 / end));
  CHECK_THAT(weight_of(hop, engine, "node0/cores"), test::is(2 * end));
  CHECK_THAT(hop.latency.value(), test::is(15e-6 + 4e-6));
  // Whatever tunnels other nodes are behind.
  for (const auto& [tunnel, routes] : {std::pair{"flannel-vxlan", "flannel-host-gw"},
                                       {"flannel-vxlan-no-offload", "flannel-host-gw"},
                                       {"flannel-udp", "flannel-host-gw"},
                                       {"calico-vxlan", "calico"}}) {
    const auto joined = [&](const char* network) {
      return Machine(engine, platform("g4dn-12xlarge"), stack("pod-per-gpu", network), 1)
          .hop({0, 1}, {0, 2}, Mover::collective);
    };
    CHECK(joined(tunnel).cap == joined(routes).cap);
    CHECK(joined(tunnel).latency == joined(routes).latency);
  }
  // Written and read once by a GPU and twice by copies, at either end; sockets have each a GPU.
  CHECK_THAT(weight_of(hop, engine, "node0/socket0/dram"), test::is(3));
  CHECK_THAT(weight_of(hop, engine, "node0/socket1/dram"), test::is(3));
  // Copies of one process are as before.
  const Machine plain(engine, platform("g4dn-12xlarge"), stack("container", "calico-ipip"), 1);
  CHECK(machine.hop({0, 1}, {0, 2}, Mover::copy_engine).uses.size() ==
        plain.hop({0, 1}, {0, 2}, Mover::copy_engine).uses.size());
  // Over RDMA the adapter brings it back.
  const Machine rdma(engine, platform("dgx-a100"), stack("pod-per-gpu", "rdma"), 2);
  const sim::Hop back = rdma.hop({0, 0}, {0, 1}, Mover::collective);
  CHECK(back.reach == sim::Reach::network);
}

TEST_CASE("packets without ports are one flow between two nodes", "[hops][pods][closed-form]")
{
  sim::Engine engine;
  const Machine machine(engine, platform("g4dn-12xlarge", "aws-vpc"),
                        stack("container", "calico-ipip"), 3);
  const sim::Hop out = machine.network_hop({{0, 0}, 0}, {{1, 0}, 0});
  const sim::Hop back = machine.network_hop({{1, 0}, 0}, {{0, 0}, 0});
  const sim::Hop other = machine.host_hop(0, 2, 0);
  const Framing framing = machine.framing();
  const double payload = (framing.mtu - framing.packet_headers).value();
  CHECK_THAT(payload, test::is(1500 - 20 - 52));
  // Packets and segments, no copies, on one core of each end, both ways together.
  const double work = 1.005 * (3e-6 / 65536 + (0.2e-6 + 1.3e-6) / payload);
  for (const sim::Hop& hop : {out, back}) {
    CHECK_THAT(weight_of(hop, engine, "node0/flow-to-node1/core"), test::is(work));
    CHECK_THAT(weight_of(hop, engine, "node1/flow-to-node0/core"), test::is(work));
  }
  CHECK_THAT(weight_of(other, engine, "node0/flow-to-node2/core"), test::is(work));
  CHECK(weight_of(other, engine, "node0/flow-to-node1/core") == 0);
  // The cloud caps all connections together, each way for itself.
  const double wire = (1500.0 + 38) / payload;
  CHECK_THAT(weight_of(out, engine, "node0/flow-to-node1"), test::is(wire));
  CHECK(weight_of(back, engine, "node0/flow-to-node1") == 0);
  CHECK_THAT(machine.socket_cap(1, 1), test::is(machine.socket_cap(1, 7)));
  // Tunnels with ports, and what caps no flows, have none of it.
  const Machine ports(engine, platform("g4dn-12xlarge", "aws-vpc"),
                      stack("container", "calico-vxlan"), 2);
  CHECK(ports.socket_cap(1, 1) < ports.socket_cap(1, 7));
  CHECK(weight_of(ports.network_hop({{0, 0}, 0}, {{1, 0}, 0}), engine,
                  "node0/flow-to-node1/core") == 0);
}

TEST_CASE("a tunnel that is one flow stays one over another, and in a guest", "[transports][pods]")
{
  CHECK(stack("container", "calico-ipip").transport.one_flow);
  CHECK(make_stack(load_host(resolve_preset(std::string("vm"), kHostKind)),
                   load_transport(resolve_preset(std::string("calico-ipip"), kTransportKind)))
            .transport.one_flow);
  CHECK_FALSE(stack("container", "calico").transport.one_flow);
}

TEST_CASE("workers of one guest exchange on its own cores, and pass no adapter", "[hops]")
{
  sim::Engine engine;
  const Stack guest = stack("vm", "tcp");
  const Machine machine(engine, platform("vm-2core"), guest, 1);
  const sim::ResourceId own = engine.add_resource({sim::ResourceKind::cores, 0, "guest"}, 1.0);
  const sim::Hop hop = machine.tenant(guest, {own}).hop({0, 0}, {0, 1}, Mover::collective);
  const double both_ends = test::weight_of(hop, engine, "node0/cores");
  CHECK(both_ends > 0);
  CHECK(test::weight_of(hop, engine, engine.name(own)) == both_ends);
  REQUIRE(guest.host.network_latency.value() > 0);
  CHECK(hop.latency == guest.transport.all_latency());
}

TEST_CASE("a pod is a machine in what is shown of graphs, too", "[pods]")
{
  const auto shown = [](const char* host, int gpus) {
    return graphs_text(platform("hgx-h100"), stack(host, "rdma"), gpus, 1, {});
  };
  const std::string pods = shown("pod-per-gpu", 2);
  CHECK_THAT(pods,
             Catch::Matchers::StartsWith("2 GPUs on each of 1 node(s), each in a container of "
                                         "its own: a machine of one GPU, as NCCL"));
  CHECK_THAT(pods, Catch::Matchers::Contains("nic0 -> 0 -> nic0") &&
                       Catch::Matchers::Contains("nic1 -> 1 -> nic1"));
  CHECK(pods.find("NVL") == std::string::npos);
  const std::string container = shown("container", 2);
  CHECK_THAT(container, Catch::Matchers::StartsWith("2 GPUs on each of 1 node(s), as NCCL"));
  CHECK(container.find("nic") == std::string::npos);
  CHECK(shown("pod-per-gpu", 1).find("nic") == std::string::npos);
}

} // namespace foretrain::pods_test
