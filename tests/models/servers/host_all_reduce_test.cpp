#include "models/servers/host_all_reduce.hpp"

#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::host_all_reduce_test {

using namespace foretrain::models;

namespace {

constexpr double kLink = 1e9;      // of every adapter, each way
constexpr double kLatency = 10e-6; // of a message
constexpr double kCopy = 4e9;      // of one GPU to its host, and back
constexpr double kSize = 1e8;

// Processes around a ring of adapters, each with GPUs that share one way to the host.
struct Hosts {
  sim::Engine engine;
  sim::HostLinks links;

  explicit Hosts(int processes, int gpus = 1)
  {
    links.name = "test";
    std::vector<int> send;
    std::vector<int> receive;
    const auto add = [&](const char* what, int p, double rate) {
      return engine.add_resource(what + std::to_string(p), rate).value;
    };
    for (int p = 0; p < processes; ++p) {
      send.push_back(add("send", p, kLink));
      receive.push_back(add("receive", p, kLink));
      links.cores.push_back(add("cores", p, 1e6));
      links.memory.push_back(add("memory", p, 1e30));
      const int bus = add("bus", p, kCopy);
      sim::Hop one;
      one.uses = {{bus, 1.0}};
      sim::Hop all;
      all.uses = {{bus, static_cast<double>(gpus)}};
      links.first_to_host.push_back(one);
      links.first_to_device.push_back(one);
      links.all_to_host.push_back(all);
      links.all_to_device.push_back(all);
      links.local.push_back(ring(p, gpus));
    }
    for (std::size_t p = 0; p < send.size(); ++p) {
      sim::Hop hop;
      hop.uses = {{send[p], 1.0}, {receive[(p + 1) % send.size()], 1.0}};
      hop.latency = Seconds(kLatency);
      links.next.push_back(hop);
    }
  }

  // The GPUs of a process, on links of their own.
  sim::Communicator ring(int process, int gpus)
  {
    sim::Communicator comm;
    comm.ranks = gpus;
    sim::Channel channel;
    for (int g = 0; g < gpus; ++g) {
      channel.ring.push_back(g);
      sim::Hop hop;
      hop.from = g;
      hop.to = (g + 1) % gpus;
      hop.uses = {{engine
                       .add_resource("p" + std::to_string(process) + "g" + std::to_string(g),
                                     test::kBandwidth)
                       .value,
                   1.0}};
      channel.hops.push_back(hop);
    }
    if (gpus > 1)
      comm.channels = {channel};
    return comm;
  }

  // Time until all buckets, ready at once, are the same everywhere.
  double run(const HostExchange& rules, int buckets = 1, bool half = false,
             Fidelity fidelity = Fidelity::coupled)
  {
    HostAllReduce exchange(engine, links, rules, test::test_library(), half);
    sim::TaskGraph graph(engine);
    std::vector<sim::TaskId> flows;
    const sim::TaskId begin = graph.add_join("begin");
    const sim::TaskId end = graph.add_join("end");
    for (int b = 0; b < buckets; ++b)
      graph.add_edge(exchange.add(graph, begin, Bytes(kSize), b, fidelity, flows), end);
    const Seconds start = engine.now();
    graph.start(nullptr);
    engine.run();
    return (graph.finished(end) - start).value();
  }
};

HostExchange rules_of(HostSteps steps, double sum_rate)
{
  HostExchange rules;
  rules.steps = steps;
  rules.sum_rate = BytesPerSecond(sum_rate);
  return rules;
}

constexpr double kCopies = 2 * kSize / kCopy;

} // namespace

TEST_CASE("through hosts: copies + 2 (rounds latency + part / link) + part / sum rate",
          "[host-all-reduce][closed-form]")
{
  const int n = GENERATE(2, 3, 4, 8);
  const auto fidelity = GENERATE(Fidelity::coupled, Fidelity::edges);
  const double part = (n - 1.0) / n * kSize;
  const auto expected = [&](double rounds) {
    return kCopies + 2 * (rounds * kLatency + part / kLink) + part / 2e9;
  };
  const auto time = [&](HostSteps steps) {
    return Hosts(n).run(rules_of(steps, 2e9), 1, false, fidelity);
  };
  CAPTURE(n);
  CHECK_THAT(time(HostSteps::ring), test::is(expected(n - 1)));
  CHECK_THAT(time(HostSteps::halving_doubling), test::is(expected(n == 8 ? 3 : n == 2 ? 1 : 2)));
}

TEST_CASE("half precision is added at a rate of its own, if it has one", "[host-all-reduce]")
{
  HostExchange rules = rules_of(HostSteps::ring, 2e9);
  const double as_any = Hosts(2).run(rules, 1, true);
  CHECK_THAT(Hosts(2).run(rules), test::is(as_any));
  rules.half_sum_rate = BytesPerSecond(0.25e9);
  CHECK_THAT(Hosts(2).run(rules), test::is(as_any));
  CHECK_THAT(Hosts(2).run(rules, 1, true), test::is(as_any + kSize / 2 * (1 / 0.25e9 - 1 / 2e9)));
}

TEST_CASE("GPUs of a process are added on its cores, or among themselves when a bucket is large",
          "[host-all-reduce]")
{
  HostExchange rules = rules_of(HostSteps::ring, 2e9);
  const double between = 2 * (kLatency + kSize / 2 / kLink) + kSize / 2 / 2e9;
  rules.on_devices = Bytes(kSize + 1);
  // Three GPUs copy over one way, and two sums follow.
  CHECK_THAT(Hosts(2, 3).run(rules), test::is(between + 3 * kCopies + 2 * kSize / 2e9));
  rules.on_devices = Bytes(kSize);
  // To one GPU and from one GPU each byte passes every hop once.
  const double local = test::kCall + 2 * test::kStep + kSize / test::kBandwidth;
  CHECK_THAT(Hosts(2, 3).run(rules), test::is(between + kCopies + 2 * local));
  // One process has nobody to exchange with.
  CHECK_THAT(Hosts(1, 3).run(rules), test::is(kCopies + 2 * local));
}

TEST_CASE("as many buckets are on their way as the library has threads", "[host-all-reduce]")
{
  HostExchange rules = rules_of(HostSteps::ring, 1e6); // sums hide all else, but the first copies
  const double sum = kSize / 2 / 1e6;
  for (const int concurrent : {1, 2, 4}) {
    rules.concurrent = concurrent;
    CHECK_THAT(Hosts(2).run(rules, 4), Catch::Matchers::WithinRel(4 / concurrent * sum, 0.05));
  }
}

} // namespace foretrain::host_all_reduce_test
