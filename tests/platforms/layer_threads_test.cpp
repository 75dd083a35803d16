// Threads that all packets of a node or a guest pass: daemons of tunnels, vhost.
#include "platforms/machine.hpp"

#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::layer_threads_test {

using namespace foretrain::platforms;

namespace {

Stack stack(const char* host, const char* network)
{
  return make_stack(load_host(resolve_preset(std::string(host), kHostKind)),
                    load_transport(resolve_preset(std::string(network), kTransportKind)));
}

struct Cluster {
  sim::Engine engine;
  Stack jobs;
  Machine machine;

  Cluster(const char* host, const char* network)
      : jobs(stack(host, network)),
        machine(engine, load_platform(std::string("nthu-gtx1080")), jobs, 2)
  {
  }

  // The threads of a node that a hop takes, with what a byte takes of each.
  std::vector<sim::Use> threads(const sim::Hop& hop, int node) const
  {
    std::vector<sim::Use> found;
    for (const sim::Use& use : hop.uses) {
      const sim::Resource it = engine.resource({use.resource});
      if (it.kind == sim::ResourceKind::layer_thread && it.node == node)
        found.push_back(use);
    }
    return found;
  }

  sim::Use only(const sim::Hop& hop, int node) const
  {
    const auto all = threads(hop, node);
    REQUIRE(all.size() == 1);
    return all.front();
  }
};

sim::Hop first_to_second(const Machine& machine)
{
  return machine.network_hop({{0, 0}, 0}, {{1, 0}, 0});
}

} // namespace

TEST_CASE("all that a node sends and receives passes its tunnel's daemon, whoever sends",
          "[hops][closed-form]")
{
  Cluster it("container", "flannel-udp");
  const Machine first = it.machine.tenant(it.jobs, {});
  const Machine second = it.machine.tenant(it.jobs, {});
  const sim::Hop out = first_to_second(first);
  const double work = network_work(it.jobs, it.machine.framing()).threads.at(0).seconds;
  for (const int node : {0, 1})
    CHECK_THAT(it.only(out, node).weight, test::is(work));
  const int thread = it.only(out, 0).resource;
  CHECK(it.engine.name({thread}) == "node0/flannel, UDP/thread");
  CHECK(it.only(out, 1).resource != thread);
  CHECK(it.only(first.network_hop({{1, 0}, 0}, {{0, 0}, 0}), 0).resource == thread);
  CHECK(it.only(first_to_second(second), 0).resource == thread);
  CHECK(it.only(second.host_hop(0, 1, 0), 0).resource == thread);
  // It runs on the node's cores beside the sockets' work, and caps no connection by itself.
  const double cores = test::weight_of(out, it.engine, "node0/cores");
  CHECK_THAT(cores, test::is(cpu_seconds_per_byte(it.jobs, it.machine.framing())));
  CHECK_THAT(out.cap, test::is(1 / (cores - work)));
}

TEST_CASE("each virtual machine has a thread of its own behind its adapter", "[hops]")
{
  Cluster it("vm", "tcp");
  const Machine first = it.machine.tenant(it.jobs, {});
  const Machine second = it.machine.tenant(it.jobs, {});
  const auto thread = [&](const Machine& tenant) {
    return it.only(first_to_second(tenant), 0).resource;
  };
  CHECK(thread(first) == thread(first));
  CHECK(thread(first) != thread(second));
  // And one of a daemon inside, where there is one.
  Cluster pods("container-on-vm", "flannel-udp");
  const Machine pod = pods.machine.tenant(pods.jobs, {});
  const Machine other = pods.machine.tenant(pods.jobs, {});
  const auto own = pods.threads(first_to_second(pod), 0);
  const auto others = pods.threads(first_to_second(other), 0);
  REQUIRE(own.size() == 2);
  REQUIRE(others.size() == 2);
  CHECK(own[0].resource != others[0].resource);
  CHECK(own[1].resource != others[1].resource);
}

TEST_CASE("no thread stands between sockets and the wire where none is told", "[hops]")
{
  for (const char* network : {"tcp", "flannel-vxlan", "calico-ipip"}) {
    INFO(network);
    Cluster it("container", network);
    CHECK(it.threads(first_to_second(it.machine), 0).empty());
  }
}

} // namespace foretrain::layer_threads_test
