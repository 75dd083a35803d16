#include "platforms/servers.hpp"

#include "sim/engine/random.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::servers_test {

using namespace foretrain::platforms;
using test::stack_of;
using test::weight_of;

TEST_CASE("workers reach servers through one adapter at either end", "[servers]")
{
  const auto spec = load_platform(std::string("hkbu-2080ti"));
  for (const char* network : {"tcp", "ipoib", "rdma"}) {
    sim::Engine engine;
    const Machine machine(engine, spec, stack_of(network), 4);
    const std::string nic = std::string(network) == "tcp" ? "eth0" : "ib0";
    const auto links = make_server_links(engine, machine, {{0, 0}, {0, 1}, {1, 0}, {1, 1}},
                                         {{2, 3}, true, 0, 1}, "job");
    CHECK(links.workers == 2);
    CHECK(links.servers == 2);
    CHECK(links.local.size() == 2);
    const double wire = wire_expansion(machine.framing());
    for (int w = 0; w < 2; ++w)
      for (int s = 0; s < 2; ++s) {
        const std::string worker = "node" + std::to_string(w) + "/";
        const std::string server = "node" + std::to_string(2 + s) + "/";
        const sim::Hop push = links.push(w, s);
        const sim::Hop pull = links.pull(w, s);
        CHECK_THAT(weight_of(push, engine, worker + nic + "/tx"), test::is(wire));
        CHECK_THAT(weight_of(push, engine, server + nic + "/rx"), test::is(wire));
        CHECK_THAT(weight_of(pull, engine, server + nic + "/tx"), test::is(wire));
        CHECK_THAT(weight_of(pull, engine, worker + nic + "/rx"), test::is(wire));
        const double back = acknowledged(machine.stack().transport, machine.framing());
        CHECK_THAT(weight_of(push, engine, worker + nic + "/rx"),
                   Catch::Matchers::WithinAbs(back, 1e-15));
        CHECK(push.latency == pull.latency);
        // A network thread serves both ways; RDMA needs none.
        const std::string thread = server + "job/server" + std::to_string(s) + "/network-thread";
        const double work = cpu_seconds_per_byte(machine.stack(), machine.framing());
        CHECK_THAT(weight_of(push, engine, thread), Catch::Matchers::WithinAbs(work, 1e-18));
        CHECK_THAT(weight_of(pull, engine, thread), Catch::Matchers::WithinAbs(work, 1e-18));
      }
  }
}

TEST_CASE("what a process moves over verbs is limited each way, over sockets not", "[servers]")
{
  const auto spec = load_platform(std::string("hkbu-2080ti"));
  ServerPlan plan;
  plan.nodes = {1};
  plan.verbs_rate = BytesPerSecond(8e9);
  for (const char* network : {"tcp", "rdma"}) {
    sim::Engine engine;
    const Machine machine(engine, spec, stack_of(network), 2);
    const auto links = make_server_links(engine, machine, {{0, 0}}, plan, "job");
    const double once = std::string(network) == "rdma" ? 1 : 0;
    const auto weighs = [&](const sim::Hop& hop, const char* what, double weight) {
      CHECK_THAT(weight_of(hop, engine, what), Catch::Matchers::WithinAbs(weight, 1e-15));
    };
    weighs(links.push(0, 0), "node0/job/worker0/verbs-send", once);
    weighs(links.push(0, 0), "node1/job/server0/verbs-receive", once);
    weighs(links.push(0, 0), "node0/job/worker0/verbs-receive", 0);
    weighs(links.pull(0, 0), "node1/job/server0/verbs-send", once);
    weighs(links.pull(0, 0), "node0/job/worker0/verbs-receive", once);
    weighs(links.pull(0, 0), "node1/job/server0/verbs-receive", 0);
  }
}

TEST_CASE("the GPUs of a worker copy a part each, workers of one GPU all of it", "[servers]")
{
  const auto spec = load_platform(std::string("hkbu-2080ti"));
  sim::Engine engine;
  const Machine machine(engine, spec, stack_of("rdma"), 1);
  const std::vector<GpuPlace> ranks{{0, 0}, {0, 1}, {0, 2}, {0, 3}};
  const auto together = make_server_links(engine, machine, ranks, {{0}, true, 0, 0}, "a");
  const auto apart = make_server_links(engine, machine, ranks, {{0}, false, 0, 0}, "b");
  CHECK(together.workers == 1);
  CHECK(apart.workers == 4);
  CHECK(apart.local.empty());
  const auto moved = [&](const sim::ServerLinks& links) {
    double sum = 0;
    for (const sim::Hop& hop : links.to_host)
      for (const char* gpu : {"gpu0", "gpu1", "gpu2", "gpu3"})
        sum += weight_of(hop, engine, std::string("node0/") + gpu + "/pcie/up");
    return sum;
  };
  CHECK_THAT(moved(together), test::is(1));
  CHECK_THAT(moved(apart), test::is(4));
}

TEST_CASE("copies of servers are work of cores at both ends", "[servers][closed-form]")
{
  const auto spec = load_platform(std::string("hkbu-2080ti"));
  sim::Engine engine;
  const Machine machine(engine, spec, stack_of("tcp"), 2);
  const auto cores = [&](double copies, const char* node) {
    const auto links = make_server_links(engine, machine, {{0, 0}}, {{1}, true, copies, 0}, "job");
    return weight_of(links.push(0, 0), engine, std::string(node) + "/cores");
  };
  for (const char* node : {"node0", "node1"})
    CHECK_THAT(cores(1.5, node) - cores(0, node),
               test::is(1.5 / machine.stack().transport.copy_rate.value()));
}

} // namespace foretrain::servers_test
