#include "models/servers/parameter_servers.hpp"

#include "sim/engine/random.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::parameter_servers_test {

using namespace foretrain::models;

namespace {

constexpr double kRate = 1e9;      // of every adapter, each way
constexpr double kLatency = 10e-6; // of a message

// Workers and servers, each with an adapter of its own; copies to and from hosts cost nothing.
struct Cluster {
  sim::Engine engine;
  std::vector<sim::ResourceId> worker_tx, worker_rx, server_tx, server_rx, cores, memory;
  sim::ServerLinks links;

  Cluster(int workers, int servers, double cores_each = 1e6)
  {
    const auto add = [&](std::vector<sim::ResourceId>& to, const char* what, int i, double rate) {
      to.push_back(engine.add_resource(what + std::to_string(i), rate));
    };
    for (int w = 0; w < workers; ++w) {
      add(worker_tx, "worker tx", w, kRate);
      add(worker_rx, "worker rx", w, kRate);
    }
    for (int s = 0; s < servers; ++s) {
      add(server_tx, "server tx", s, kRate);
      add(server_rx, "server rx", s, kRate);
      add(cores, "cores", s, cores_each);
      add(memory, "memory", s, 1e30);
    }
    links.name = "test";
    links.workers = workers;
    links.servers = servers;
    const sim::ResourceId bus = engine.add_resource("bus", 1e30);
    for (int w = 0; w < workers; ++w) {
      sim::Hop free;
      free.uses = {{bus.value, 1.0}};
      links.to_host.push_back(free);
      links.to_device.push_back(free);
    }
    const auto hop = [](sim::ResourceId from, sim::ResourceId to) {
      sim::Hop result;
      result.reach = sim::Reach::network;
      result.uses = {{from.value, 1.0}, {to.value, 1.0}};
      result.latency = Seconds(kLatency);
      return result;
    };
    links.push = [this, hop](int w, int s) {
      return hop(worker_tx[static_cast<std::size_t>(w)], server_rx[static_cast<std::size_t>(s)]);
    };
    links.pull = [this, hop](int w, int s) {
      return hop(server_tx[static_cast<std::size_t>(s)], worker_rx[static_cast<std::size_t>(w)]);
    };
    for (int s = 0; s < servers; ++s) {
      links.cores.push_back(cores[static_cast<std::size_t>(s)].value);
      links.memory.push_back(memory[static_cast<std::size_t>(s)].value);
    }
  }

  // Time until all tensors, ready at once, are the same everywhere.
  double run(const ServerRules& rules, const std::vector<double>& tensors,
             Fidelity fidelity = Fidelity::coupled)
  {
    ParameterServers servers(engine, links, rules, {}, "auto");
    sim::TaskGraph graph(engine);
    std::vector<sim::TaskId> flows;
    const sim::TaskId begin = graph.add_join("begin");
    const sim::TaskId end = graph.add_join("end");
    for (std::size_t t = 0; t < tensors.size(); ++t)
      graph.add_edge(
          servers.add(graph, begin, Bytes(tensors[t]), static_cast<int>(t), fidelity, flows), end);
    graph.add_edges(servers.fetch(graph, fidelity, flows), end);
    const Seconds start = engine.now();
    graph.start(nullptr);
    engine.run();
    return (graph.finished(end) - start).value();
  }
};

ServerRules by_bytes(double partition)
{
  ServerRules rules;
  rules.shard = ServerShard::bytes;
  rules.partition = Bytes(partition);
  rules.sum_rate = BytesPerSecond(1e30);
  return rules;
}

ServerRules by_tensor()
{
  ServerRules rules = by_bytes(1);
  rules.shard = ServerShard::tensor;
  return rules;
}

} // namespace

TEST_CASE("one tensor on one server: in, sum, out, at the rate of the server's adapter",
          "[servers]")
{
  for (const int workers : {1, 2, 5}) {
    Cluster cluster(workers, 1);
    const double way = workers * 1e8 / kRate;
    // Push, acknowledgement, request and answer.
    CHECK_THAT(cluster.run(by_tensor(), {1e8}),
               Catch::Matchers::WithinRel(2 * way + 4 * kLatency, 1e-9));
  }
}

TEST_CASE("a request to pull waits for the pushes that were handed over before it", "[servers]")
{
  Cluster cluster(3, 1);
  // Ten pieces at once: all go in before the first one comes out.
  const double way = 3 * 1e8 / kRate;
  CHECK_THAT(cluster.run(by_bytes(1e7), {1e8}),
             Catch::Matchers::WithinRel(2 * way + 2 * kLatency, 1e-9));
}

TEST_CASE("a server's thread adds what all workers sent, the update once more", "[servers]")
{
  for (const bool updates : {false, true}) {
    Cluster cluster(4, 1);
    ServerRules rules = by_tensor();
    rules.sum_rate = BytesPerSecond(2e9);
    rules.sum_threads = 1;
    rules.updates = updates;
    const double expected = 2 * 4 * 1e8 / kRate + (updates ? 5 : 4) * 1e8 / 2e9 + 2 * kLatency;
    CHECK_THAT(cluster.run(rules, {1e8}), Catch::Matchers::WithinRel(expected, 1e-9));
  }
}

TEST_CASE("what a step fetches comes from its beginning on, whatever is pushed meanwhile",
          "[servers]")
{
  Cluster cluster(2, 1);
  ServerRules rules = by_tensor();
  rules.pull = ServerPull::step;
  const double way = 2 * 4e7 / kRate;
  CHECK_THAT(cluster.run(rules, {1e7, 3e7}), Catch::Matchers::WithinRel(way + 2 * kLatency, 1e-9));
}

TEST_CASE("bytes through each server and worker are those of the theory", "[servers][property]")
{
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    sim::RandomStream random(seed, "servers");
    const int workers = 1 + static_cast<int>(random() % 6);
    const int count = 1 + static_cast<int>(random() % 5);
    const bool tensors = random() % 2 == 0;
    std::vector<double> sizes(1 + random() % 9);
    for (double& size : sizes)
      size = 1e6 * static_cast<double>(1 + random() % 50);
    const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    Cluster cluster(workers, count);
    cluster.run(tensors ? by_tensor() : by_bytes(3e6), sizes,
                random() % 2 == 0 ? Fidelity::coupled : Fidelity::edges);
    double in = 0;
    double most = 0;
    for (int s = 0; s < count; ++s) {
      const double through =
          cluster.engine.consumed(cluster.server_rx[static_cast<std::size_t>(s)]);
      CHECK_THAT(cluster.engine.consumed(cluster.server_tx[static_cast<std::size_t>(s)]),
                 Catch::Matchers::WithinRel(through, 1e-9) || Catch::Matchers::WithinAbs(0, 1));
      in += through;
      most = std::max(most, through);
    }
    CHECK_THAT(in, Catch::Matchers::WithinRel(workers * all, 1e-9));
    // Least loaded first: no server holds more than its share and one tensor (or partitions).
    const double largest = tensors ? *std::max_element(sizes.begin(), sizes.end())
                                   : 3e6 * static_cast<double>(sizes.size() + 1);
    CHECK(most <= workers * (all / count + largest) * (1 + 1e-9));
    for (int w = 0; w < workers; ++w) {
      CHECK_THAT(cluster.engine.consumed(cluster.worker_tx[static_cast<std::size_t>(w)]),
                 Catch::Matchers::WithinRel(all, 1e-9));
      CHECK_THAT(cluster.engine.consumed(cluster.worker_rx[static_cast<std::size_t>(w)]),
                 Catch::Matchers::WithinRel(all, 1e-9));
    }
  }
}

TEST_CASE("weights that alternate with biases load both servers alike", "[servers]")
{
  std::vector<double> sizes;
  std::vector<double> load(2);
  for (int tensor = 0; tensor < 100; ++tensor) {
    sizes.push_back(tensor % 2 == 0 ? 2.4e6 : 3e3); // one partition each
    load[static_cast<std::size_t>(server_of_partition(tensor, 0, 2))] += sizes.back();
  }
  Cluster cluster(1, 2);
  cluster.run(by_bytes(4e6), sizes);
  CHECK(cluster.engine.consumed(cluster.server_rx[0]) == Approx(load[0]));
  CHECK(cluster.engine.consumed(cluster.server_rx[1]) == Approx(load[1]));
  CHECK(load[0] / (load[0] + load[1]) == Approx(0.5).margin(0.1));
}

TEST_CASE("partitions take as long as the busiest server or the workers' adapters", "[servers]")
{
  constexpr double kBytes = 4.8e8;
  for (const int servers : {1, 2, 3, 4, 6, 8, 12}) {
    Cluster cluster(4, servers);
    const double time = cluster.run(by_bytes(1e6), {kBytes});
    std::vector<double> load(static_cast<std::size_t>(servers));
    for (int p = 0; p < 480; ++p)
      load[static_cast<std::size_t>(server_of_partition(0, p, servers))] += 1e6;
    const double busiest = *std::max_element(load.begin(), load.end());
    const double one_way = std::max(kBytes, 4 * busiest) / kRate;
    INFO(servers);
    CHECK(time >= one_way * (1 - 1e-9));
    CHECK(time <= 2.2 * one_way); // there and back again
  }
}

TEST_CASE("one flow per worker is never slower than all at the pace of the slowest", "[servers]")
{
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    sim::RandomStream random(seed, "slow worker");
    const int workers = 2 + static_cast<int>(random() % 4);
    const std::vector<double> sizes{2e7, 5e6, 4e7, 1e6};
    const auto time = [&](Fidelity fidelity) {
      Cluster cluster(workers, 2);
      cluster.engine.set_capacity(cluster.worker_tx.front(), kRate / 4);
      return cluster.run(by_bytes(4e6), sizes, fidelity);
    };
    CHECK(time(Fidelity::edges) <= time(Fidelity::coupled) * (1 + 1e-9));
  }
}

} // namespace foretrain::parameter_servers_test
