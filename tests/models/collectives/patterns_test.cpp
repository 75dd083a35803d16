// What every algorithm makes ranks send, against theory, and the choice between them.
#include "models/collectives/collective.hpp"
#include "sim/base/error.hpp"
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <map>

namespace foretrain::patterns_test {

using namespace foretrain::models;

namespace {

// `nodes` x `local` ranks; every rank has one link out and one link in of its own.
struct Star {
  sim::Engine engine;
  sim::Communicator comm;

  Star(int nodes, int local)
  {
    comm.name = "star";
    comm.nodes = nodes;
    comm.ranks = nodes * local;
    for (int r = 0; r < comm.ranks; ++r) {
      engine.add_resource("out" + std::to_string(r), 10e9); // 2 r
      engine.add_resource("in" + std::to_string(r), 10e9);  // 2 r + 1
      comm.node_of.push_back(r / local);
    }
    comm.connect = [this](int from, int to, int) {
      sim::Hop hop;
      hop.from = from;
      hop.to = to;
      hop.reach =
          comm.node_of[static_cast<std::size_t>(from)] == comm.node_of[static_cast<std::size_t>(to)]
              ? sim::Reach::nvlink
              : sim::Reach::network;
      hop.uses = {{2 * from, 1.0}, {2 * to + 1, 1.0}};
      return hop;
    };
    sim::Channel channel;
    for (int r = 0; r < comm.ranks; ++r) {
      channel.ring.push_back(r);
      channel.hops.push_back(comm.connect(r, (r + 1) % comm.ranks, 0));
    }
    comm.channels = {channel};
  }

  // Bytes per byte of buffer on each resource.
  std::map<int, double> loads(const Algorithm& algorithm) const
  {
    Pattern pattern;
    algorithm.add_pattern(comm, pattern);
    pattern.loads.finish();
    std::map<int, double> sums;
    for (int resource = 0; resource < pattern.loads.resources(); ++resource)
      if (const std::size_t number = pattern.loads.sum_of(resource); number > 0)
        sums[resource] = pattern.loads.sums()[number].inside + pattern.loads.sums()[number].between;
    return sums;
  }
};

const Algorithm& algorithm(Operation operation, const std::string& name)
{
  for (const Algorithm* it : algorithms(operation))
    if (it->name == name)
      return *it;
  throw std::logic_error(name);
}

Library two_protocols()
{
  Protocol quick;
  quick.name = "quick";
  quick.payload = quick.network_payload = 0.5;
  quick.ring_hop = quick.tree_hop = {Seconds(1e-6), Seconds(1e-6), Seconds(2e-6)};
  Protocol wide = quick;
  wide.name = "wide";
  wide.payload = wide.network_payload = 1;
  wide.ring_hop = wide.tree_hop = {Seconds(5e-6), Seconds(5e-6), Seconds(20e-6)};
  Library library;
  library.name = "test";
  library.protocols = {quick, wide};
  library.automatic = {"ring", "tree"};
  return library;
}

} // namespace

TEST_CASE("every rank sends and receives what theory says", "[collectives][closed-form]")
{
  const int nodes = GENERATE(1, 2, 4, 8);
  const int local = GENERATE(2, 4);
  const Star star(nodes, local);
  const double n = star.comm.ranks;
  CAPTURE(nodes, local);
  const auto each = [&](Operation operation, const char* name, double bytes) {
    const Algorithm& it = algorithm(operation, name);
    if (!it.applies(star.comm))
      return;
    CAPTURE(name);
    const auto loads = star.loads(it);
    REQUIRE(loads.size() == static_cast<std::size_t>(2 * star.comm.ranks));
    for (const auto& [resource, sum] : loads)
      CHECK_THAT(sum, test::is(bytes));
  };
  each(Operation::all_reduce, "ring", 2 * (n - 1) / n);
  each(Operation::all_reduce, "halving-doubling", 2 * (n - 1) / n);
  each(Operation::all_gather, "ring", (n - 1) / n);
  each(Operation::reduce_scatter, "ring", (n - 1) / n);
  each(Operation::all_to_all, "pairwise", (n - 1) / n);
  each(Operation::send_receive, "neighbour", 1);
  const double inside = 2.0 * (local - 1) / local;
  each(Operation::all_reduce, "hierarchical", inside + 2.0 * (nodes - 1) / nodes / local);
}

TEST_CASE("a tree moves 2 (n - 1) buffers in all, half of them up", "[collectives][closed-form]")
{
  const int nodes = GENERATE(1, 2, 3, 4, 7, 8, 16);
  const int local = GENERATE(1, 4);
  const Star star(nodes, local);
  if (star.comm.ranks < 2)
    return;
  double out = 0;
  for (const auto& [resource, sum] : star.loads(algorithm(Operation::all_reduce, "tree")))
    out += resource % 2 == 0 ? sum : 0;
  CAPTURE(nodes, local);
  CHECK_THAT(out, test::is(2.0 * (star.comm.ranks - 1)));
}

TEST_CASE("no node of a double tree is inner in both", "[collectives][property]")
{
  const int nodes = GENERATE(4, 5, 6, 7, 8, 9, 12, 13, 16, 17);
  CAPTURE(nodes);
  const Star star(nodes, 1);
  // Half a buffer up in each tree, and half a buffer down to each of two children in one of them.
  for (const auto& [link, sum] : star.loads(algorithm(Operation::all_reduce, "tree")))
    CHECK(sum <= 2 * 0.5 + 2 * 0.5 + 1e-9);
}

TEST_CASE("switches that add spare the ranks their part", "[collectives][closed-form]")
{
  Star inside(1, 8);
  inside.comm.in_network_reduction = true;
  inside.comm.in_network_efficiency = 0.8;
  for (const auto& [link, sum] : inside.loads(algorithm(Operation::all_reduce, "in-switch")))
    CHECK_THAT(sum, test::is((1 + 1.0 / 8) / 0.8));
  Star between(6, 4);
  between.comm.fabric_reduction = true;
  for (const auto& [link, sum] : between.loads(algorithm(Operation::all_reduce, "sharp")))
    CHECK_THAT(sum, test::is(1.0 / 4 + 2 * 3.0 / 4));
}

TEST_CASE("in a broadcast every rank but the root receives the buffer once", "[collectives]")
{
  const Star star(2, 4);
  const auto loads = star.loads(algorithm(Operation::broadcast, "ring"));
  CHECK(loads.count(1) == 0); // the root
  for (int rank = 1; rank < 8; ++rank)
    CHECK_THAT(loads.at(2 * rank + 1), test::is(1));
}

TEST_CASE("small messages take the quick protocol, large ones the wide one", "[collectives]")
{
  const Star star(1, 8);
  const Collective collective(star.engine, star.comm, two_protocols(), Operation::all_reduce,
                              "ring");
  CHECK(collective.choose(Bytes(1024)).protocol == "quick");
  CHECK(collective.choose(Bytes(1e9)).protocol == "wide");
  // 14 steps of 1 us, and of 5 us; 1.75 bytes per byte on 10 GB/s links, twice that with flags.
  CHECK_THAT(collective.choose(Bytes(8e3)).time.value(), test::is(14e-6 + 2 * 1.75 * 8e3 / 10e9));
  CHECK_THAT(collective.choose(Bytes(1e9)).time.value(), test::is(70e-6 + 1.75 * 1e9 / 10e9));
}

TEST_CASE("between nodes flags and steps cost what a protocol says of them",
          "[collectives][closed-form]")
{
  Library library = two_protocols();
  library.protocols.resize(1); // 1 us inside nodes, 2 us between them
  library.protocols[0].payload = 1;
  library.protocols[0].inside_factor = 3;
  const auto time = [&](const Star& star, double size) {
    return Collective(star.engine, star.comm, library, Operation::all_reduce, "ring")
        .choose(Bytes(size))
        .time.value();
  };
  CHECK_THAT(time(Star(1, 8), 1e9), test::is(14e-6 + 1.75 * 1e9 / 10e9));
  // Half of what crosses between nodes is flags. Six of eight hops lie inside: of 14 steps 10.5.
  CHECK_THAT(time(Star(2, 4), 1e9), test::is(10.5 * 3e-6 + 3.5 * 2e-6 + 2 * 1.75 * 1e9 / 10e9));
}

TEST_CASE("trees win on many nodes with small messages", "[collectives]")
{
  const Star star(64, 2);
  const Collective collective(star.engine, star.comm, two_protocols(), Operation::all_reduce,
                              "auto");
  CHECK(std::string(collective.choose(Bytes(1024)).algorithm) == "tree");
}

TEST_CASE("an algorithm that does not apply is refused by name", "[collectives]")
{
  const Star star(1, 3);
  CHECK_THROWS_AS(Collective(star.engine, star.comm, two_protocols(), Operation::all_reduce,
                             "halving-doubling"),
                  UsageError);
  CHECK_THROWS_WITH(
      Collective(star.engine, star.comm, two_protocols(), Operation::all_reduce, "rign"),
      Catch::Matchers::Contains("did you mean 'ring'?"));
}

TEST_CASE("who sends to too many others is refused by their number", "[collectives]")
{
  const Star star(129, 8);
  CHECK_THROWS_WITH(
      Collective(star.engine, star.comm, two_protocols(), Operation::all_to_all, "auto"),
      Catch::Matchers::Contains("1032 GPUs are more than send to each other here"));
  CHECK_NOTHROW(
      Collective(star.engine, star.comm, two_protocols(), Operation::send_receive, "auto"));
}

TEST_CASE("long messages are announced at every hop between nodes", "[collectives][closed-form]")
{
  Star star(2, 1);
  star.comm.ring_graph.channels = 1;
  for (sim::Hop& hop : star.comm.channels.front().hops) {
    hop.rendezvous = Seconds(30e-6);
    hop.eager = Bytes(8192);
  }
  Library library = two_protocols();
  library.protocols.erase(library.protocols.begin());
  library.version = 21806;
  const Collective collective(star.engine, star.comm, library, Operation::all_reduce, "ring");
  const auto latency = [&](double size) {
    return collective.candidates(Bytes(size)).front().latency.value();
  };
  // Two ranks send half of the buffer in each of two steps of 20 us.
  CHECK_THAT(latency(16384), test::is(2 * 20e-6));
  CHECK_THAT(latency(16386), test::is(2 * 20e-6 + 2 * 30e-6));
}

TEST_CASE("under a named algorithm the library still chooses the protocol", "[collectives]")
{
  Star star(2, 2);
  star.comm.ring_graph = {1, 20e9, 12e9, true, false, false}; // the adapter is behind the host
  Library library = two_protocols();
  library.estimate = Estimate::nccl_2_5;
  library.protocols[0].name = "LL128";
  library.protocols[1].name = "Simple";
  library.protocols[1].ring_base = Seconds(1e-3);
  const auto protocol = [&](const char* algorithm) {
    const Collective collective(star.engine, star.comm, library, Operation::all_reduce, algorithm);
    return collective.choose(Bytes(8)).protocol;
  };
  // Without a short way to the adapter NCCL does not consider LL128, whatever it would take.
  CHECK(protocol("ring") == "Simple");
  // What NCCL does not have runs as fast as it can.
  library.automatic = {"ring"};
  CHECK(protocol("hierarchical") == "LL128");
}

TEST_CASE("newer GPUs have latencies of their own, trees another one for a step", "[collectives]")
{
  Protocol protocol;
  protocol.ring_base = Seconds(14e-6);
  protocol.ring_hop.nvlink = Seconds(1.9e-6);
  protocol.tree_hop.nvlink = Seconds(1.2e-6);
  protocol.gpu_latencies = {{8, Seconds(15e-6), Seconds(3.3e-6), Seconds(0), Seconds(1.25e-6)},
                            {9, Seconds(16e-6), Seconds(2e-6), Seconds(0)}};
  const Protocol volta = protocol.on(7, Seconds(0));
  CHECK(volta.ring_base == Seconds(14e-6));
  CHECK(volta.ring_hop.nvlink == Seconds(1.9e-6));
  CHECK(volta.tree_hop.nvlink == Seconds(1.2e-6));
  const Protocol ampere = protocol.on(8.6, Seconds(0));
  CHECK(ampere.ring_base == Seconds(15e-6));
  CHECK(ampere.ring_hop.nvlink == Seconds(3.3e-6));
  CHECK(ampere.tree_hop.nvlink == Seconds(1.25e-6));
  CHECK(ampere.tree_base == Seconds(0)); // with steps of their own trees keep their base
  const Protocol hopper = protocol.on(9, Seconds(0));
  CHECK(hopper.ring_hop.nvlink == Seconds(2e-6));
  CHECK(hopper.tree_hop.nvlink == Seconds(2e-6));
  CHECK(hopper.tree_base == Seconds(16e-6));
  CHECK(hopper.send_base == Seconds(16e-6));
  // Sends between two ranks may take a time of their own, whatever a step takes.
  protocol.gpu_latencies.back().send = Seconds(9e-6);
  const Protocol apart = protocol.on(9, Seconds(0));
  CHECK(apart.ring_base == Seconds(16e-6));
  CHECK(apart.send_base == Seconds(9e-6));
  CHECK(apart.send_hop.nvlink == Seconds(0));
  CHECK(volta.send_base == Seconds(14e-6));
}

TEST_CASE("a factor on the time of calls holds where they run, at every fidelity",
          "[collectives][closed-form]")
{
  const Bytes size(48e6);
  const auto time = [&](Fidelity fidelity, bool nvlink, int nodes, const Library& library) {
    test::RingScene scene(4, sim::Sharing::plugged);
    scene.comm.nodes = nodes;
    for (sim::Hop& hop : scene.comm.channels.front().hops)
      hop.reach = nvlink ? sim::Reach::nvlink : sim::Reach::pcie;
    return scene.all_reduce(size, fidelity, library);
  };
  for (const Fidelity fidelity : {Fidelity::coupled, Fidelity::edges, Fidelity::chunks})
    for (const bool nvlink : {false, true})
      for (const int nodes : {1, 2}) {
        CAPTURE(static_cast<int>(fidelity), nvlink, nodes);
        Library library = test::test_library();
        const double once = time(fidelity, nvlink, nodes, library);
        library.call_time = 3;
        library.call_time_pcie = 5;
        library.call_time_between_nodes = 7;
        const double factor = nodes > 1 ? 7 : nvlink ? 3 : 5;
        CHECK_THAT(time(fidelity, nvlink, nodes, library), test::is(factor * once));
      }
}

TEST_CASE(
    "a library that is faster than told starts earlier and moves more, up to what links carry",
    "[collectives][closed-form]")
{
  const double size = 48e6, links = test::kBandwidth, protocol = links / 4;
  const double sent = 1.5 * size; // by each of four ranks
  const double steps = test::kCall + 6 * (test::kStep + test::kHopLatency);
  for (const Fidelity fidelity : {Fidelity::coupled, Fidelity::edges, Fidelity::chunks})
    for (const double factor : {0.9, 0.5, 0.2, 0.1}) {
      CAPTURE(static_cast<int>(fidelity), factor);
      const auto time = [&](bool limited) {
        Library library = test::test_library();
        library.call_time_pcie = factor;
        if (limited) {
          const BytesPerSecond bus(protocol);
          library.protocols.front().bus_limits = {{0, bus, bus, bus}};
        }
        test::RingScene scene(4, sim::Sharing::plugged);
        const double took = scene.all_reduce(Bytes(size), fidelity, library);
        const Collective told(scene.engine, scene.comm, library, Operation::all_reduce, "ring");
        if (fidelity != Fidelity::chunks)
          CHECK_THAT(told.choose(Bytes(size)).time.value(), test::is(took));
        return took;
      };
      CHECK_THAT(time(false), test::is(factor * steps + sent / links));
      CHECK_THAT(time(true), test::is(factor * steps + sent / std::min(protocol / factor, links)));
    }
}

TEST_CASE("a call that uses one channel of four waits for it", "[collectives][closed-form]")
{
  Star star(1, 2);
  star.comm.ring_graph.channels = 4;
  Library library = two_protocols();
  library.estimate = Estimate::nccl_2_5;
  library.version = 22700;
  Protocol& ll = library.protocols.front();
  ll.name = "LL";
  ll.bus_limits = {{0, BytesPerSecond(4e9), BytesPerSecond(4e9), BytesPerSecond(4e9)}};
  library.protocols.pop_back();
  const auto time = [&](double size) {
    const Collective collective(star.engine, star.comm, library, Operation::all_gather, "auto");
    return collective.candidates(Bytes(size)).front().time.value();
  };
  // Each rank sends half of the buffer, at a quarter of 4 GB/s with one channel (up to 8 KiB of
  // buffer in LL), at all of it with four.
  CHECK_THAT(time(8192), test::is(1e-6 + 4096 / 1e9));
  CHECK_THAT(time(4 * 8192), test::is(1e-6 + 4 * 4096 / 4e9));
  CHECK_THAT(time(1 << 20), test::is(1e-6 + (1 << 19) / 4e9));
}

TEST_CASE("an all-to-all pays for each doubling of its ranks, and for what a rank sends to itself",
          "[collectives][closed-form]")
{
  for (const int ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    Star star(1, ranks);
    star.comm.compute_capability = 10;
    Library library = two_protocols();
    library.protocols.erase(library.protocols.begin());
    library.protocols.front().gpu_latencies = {{10, Seconds(8e-6), Seconds(1e-6), Seconds(5e-7)}};
    library.local_copies = {{10, BytesPerSecond(2e9), BytesPerSecond(1e9)}};
    const auto time = [&](Operation operation) {
      const Collective collective(star.engine, star.comm, library, operation, "auto");
      return collective.candidates(Bytes(1e6)).front().time.value();
    };
    const double n = ranks;
    // Links carry (n - 1) / n of the buffer at 10 GB/s, a rank keeps one n-th at 1 GB/s.
    CHECK_THAT(time(Operation::all_to_all),
               test::is(9e-6 + std::log2(n) * 5e-7 + 1e6 * (n - 1) / n / 10e9 + 1e6 / n / 1e9));
    // A ring copies its own piece at the other rate.
    CHECK_THAT(time(Operation::all_gather),
               test::is(8e-6 + (n - 1) * 1e-6 + 1e6 * (n - 1) / n / 10e9 + 1e6 / n / 2e9));
  }
}

} // namespace foretrain::patterns_test
