// All-reduce on random machines: what the links carry, what cuts allow, and symmetry.
#include "experiments/run/simulate/nccl_tests.hpp"
#include "models/collectives/collective.hpp"
#include "platforms/rings.hpp"
#include "platforms/show.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/random.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace foretrain::collective_properties_test {

namespace {

constexpr double kSize = 64e6;

using Bricks = std::vector<std::vector<int>>;

Bricks random_bricks(sim::RandomStream& random, int gpus)
{
  Bricks bricks(static_cast<std::size_t>(gpus), std::vector<int>(static_cast<std::size_t>(gpus)));
  std::vector<int> left(static_cast<std::size_t>(gpus), 6);
  for (std::size_t a = 0; a < bricks.size(); ++a)
    for (std::size_t b = a + 1; b < bricks.size(); ++b) {
      const int n = std::min({static_cast<int>(random() % 3), left[a], left[b]});
      bricks[a][b] = bricks[b][a] = n;
      left[a] -= n;
      left[b] -= n;
    }
  return bricks;
}

// A machine with these NVLinks; GPU g hangs on the socket or switch on[g].
platforms::PlatformSpec machine_of(const Bricks& bricks, const std::vector<std::string>& on)
{
  const auto base = resolve_preset(std::string("dgx1-v100"), platforms::kPlatformKind);
  auto document = std::make_shared<Document>(*base.document());
  Json pairs = Json::array();
  for (std::size_t a = 0; a < bricks.size(); ++a)
    for (std::size_t b = a + 1; b < bricks.size(); ++b)
      if (bricks[a][b] > 0)
        pairs.push_back({a, b, bricks[a][b]});
  document->root["node"]["gpus"]["on"] = on;
  document->root["node"]["nvlink"] = {{"pairs", pairs}};
  return platforms::load_platform(Value(std::shared_ptr<const Document>(document)));
}

platforms::Stack stack()
{
  return {
      platforms::load_host(resolve_preset(std::string("bare-metal"), platforms::kHostKind)),
      platforms::load_transport(resolve_preset(std::string("rdma"), platforms::kTransportKind))};
}

// An all-reduce of kSize bytes on all GPUs of some nodes.
struct Run {
  sim::Engine engine;
  platforms::Machine machine;
  std::vector<platforms::GpuPlace> ranks;
  models::Collective::Choice choice;

  Run(const platforms::PlatformSpec& spec, int nodes, const std::string& algorithm)
      : machine(engine, spec, stack(), nodes)
  {
    for (int node = 0; node < nodes; ++node)
      for (int gpu = 0; gpu < spec.gpus_per_node(); ++gpu)
        ranks.push_back({node, gpu});
    models::Library library =
        models::load_library(resolve_preset(std::string("nccl"), models::kLibraryKind));
    library.protocols = {library.protocols.back()}; // Simple: every byte once
    platforms::GraphRules rules;
    rules.search.version = 2804; // no hops over a GPU between, whose bytes would count twice
    const models::Collective collective(engine,
                                        platforms::make_communicator(machine, ranks, "test", rules),
                                        library, models::Operation::all_reduce, algorithm);
    choice = collective.choose(Bytes(kSize));
    sim::TaskGraph graph(engine, "test");
    std::vector<sim::TaskId> flows;
    collective.add(graph, graph.add_join("begin"), Bytes(kSize), 0, models::Fidelity::coupled,
                   flows);
    graph.start(nullptr);
    engine.run();
  }

  // Bytes through all resources whose name ends like this.
  double through(const std::string& node, const std::string& part) const
  {
    double sum = 0;
    for (int r = 0; r < engine.resource_count(); ++r) {
      const std::string& name = engine.name({r});
      if (name.rfind(node, 0) == 0 && name.find(part) != std::string::npos)
        sum += engine.consumed({r});
    }
    return sum;
  }
};

std::vector<std::string> spread(int gpus)
{
  const std::vector<std::string> switches{"plx0", "plx1", "plx2", "plx3"};
  std::vector<std::string> on;
  for (int g = 0; g < gpus; ++g)
    on.push_back(switches[static_cast<std::size_t>(g / 2)]);
  return on;
}

} // namespace

TEST_CASE("a ring sends 2 (n - 1) / n of the buffer out of each GPU, on random meshes",
          "[collectives][property][long]")
{
  int over_nvlink = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    sim::RandomStream random(seed, "mesh");
    const int gpus = 2 + static_cast<int>(random() % 7);
    const auto spec = machine_of(random_bricks(random, gpus), spread(gpus));
    const Run run(spec, 1, "ring");
    const double n = gpus;
    const double each = 2 * (n - 1) / n * kSize;
    const double nvlink = run.through("node0/nvlink/", "") * spec.gpu.nvlink_collective_efficiency;
    INFO("seed " << seed << ", " << gpus << " GPUs");
    double pcie = 0; // out of the GPUs
    for (int g = 0; g < gpus; ++g)
      pcie += run.through("node0/gpu" + std::to_string(g) + "/pcie/up", "");
    CHECK_THAT(nvlink + pcie, test::is(n * each));
    over_nvlink += pcie == 0 ? 1 : 0;
  }
  CHECK(over_nvlink > 5);
}

TEST_CASE("every node's adapters carry what the algorithm's theory says",
          "[collectives][property][long]")
{
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    sim::RandomStream random(seed, "nodes");
    const int gpus = 1 + static_cast<int>(random() % 8);
    const int nodes = 2 + static_cast<int>(random() % 4);
    const auto spec = machine_of(random_bricks(random, gpus), spread(gpus));
    for (const std::string algorithm : {"ring", "hierarchical"}) {
      if (algorithm == "hierarchical" && gpus == 1)
        continue;
      const Run run(spec, nodes, algorithm);
      const double wire = platforms::wire_expansion(run.machine.framing());
      const double n = algorithm == "ring" ? gpus * nodes : nodes;
      INFO("seed " << seed << ", " << nodes << " nodes of " << gpus << ", " << algorithm);
      for (int node = 0; node < nodes; ++node)
        for (const char* way : {"/tx", "/rx"}) {
          const std::string prefix = "node" + std::to_string(node) + "/ib";
          CHECK_THAT(run.through(prefix, way) / wire, test::is(2 * (n - 1) / n * kSize));
        }
    }
  }
}

TEST_CASE("no all-reduce beats the cut through its machine", "[collectives][property][long]")
{
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    sim::RandomStream random(seed, "cut");
    const int gpus = 2 * (1 + static_cast<int>(random() % 3));
    const auto spec = machine_of(random_bricks(random, gpus), spread(gpus));
    // Half of the GPUs must learn what the other half has: the whole buffer crosses any cut.
    const double inside = platforms::node_bisection(spec).value();
    const double between = platforms::cluster_bisection(spec, 2).value();
    INFO("seed " << seed << ", " << gpus << " GPUs");
    for (const std::string algorithm : {"ring", "tree"}) {
      CHECK(Run(spec, 1, algorithm).choice.rate.value() <= inside * (1 + 1e-6));
      CHECK(Run(spec, 2, algorithm).choice.rate.value() <= between * (1 + 1e-6));
    }
  }
}

TEST_CASE("numbering the GPUs otherwise changes nothing", "[collectives][property]")
{
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    sim::RandomStream random(seed, "labels");
    const int gpus = 2 + static_cast<int>(random() % 4);
    const Bricks bricks = random_bricks(random, gpus);
    const auto on = spread(gpus);
    std::vector<std::size_t> order(static_cast<std::size_t>(gpus));
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[random() % (i + 1)]);
    Bricks others = bricks;
    std::vector<std::string> other_on = on;
    for (std::size_t a = 0; a < order.size(); ++a) {
      other_on[order[a]] = on[a];
      for (std::size_t b = 0; b < order.size(); ++b)
        others[order[a]][order[b]] = bricks[a][b];
    }
    INFO("seed " << seed << ", " << gpus << " GPUs");
    const Run run(machine_of(bricks, on), 1, "ring");
    // Without rings over NVLink the order of the PCIe tree counts, and with it the numbers: which
    // NVLinks such a ring meets is chance.
    if (run.through("node0/", "pcie/up") > 0)
      continue;
    const Run other(machine_of(others, other_on), 1, "ring");
    CHECK_THAT(other.choice.rate.value(), test::is(run.choice.rate.value()));
    CHECK_THAT(other.engine.now().value(), test::is(run.engine.now().value()));
  }
}

TEST_CASE("every program of nccl-tests runs with every library, one node and two", "[collectives]")
{
  const auto spec = platforms::load_platform(std::string("dgx1-v100"));
  for (const char* library : {"nccl", "nccl-2.4"})
    for (const std::string& program : experiments::nccl_test_names())
      for (const int nodes : {1, 2}) {
        experiments::NcclTestsOptions options;
        options.nodes = nodes;
        options.gpus_per_node = 8;
        options.sizes = {8192, 64e6};
        options.library = resolve_preset(std::string(library), models::kLibraryKind);
        INFO(program << " with " << library << " on " << nodes);
        const auto rows = experiments::run_nccl_test(*experiments::find_nccl_test(program), spec,
                                                     stack(), options);
        REQUIRE(rows.size() == 2);
        CHECK(rows[0].time > 0);
        CHECK(rows[1].time > rows[0].time);
      }
}

TEST_CASE("GPUs reach another node through the adapters beside them, not through all of the node's",
          "[collectives]")
{
  const auto speed = [](const char* program, const char* platform, int gpus) {
    experiments::NcclTestsOptions options;
    options.nodes = 2;
    options.gpus_per_node = gpus;
    options.sizes = {1e9};
    options.library = resolve_preset(std::string("nccl"), models::kLibraryKind);
    if (std::string(program) == "all_reduce_perf") // a tree's bus bandwidth may exceed the wire's
      options.algorithm = "ring";
    return experiments::run_nccl_test(*experiments::find_nccl_test(program),
                                      platforms::load_platform(std::string(platform)), stack(),
                                      options)
        .front()
        .bus_bandwidth;
  };
  // One adapter for two GPUs of a DGX-1 (EDR), one for each GPU of the others (HDR, NDR).
  for (const auto& [platform, adapter, each] :
       {std::tuple{"dgx1-v100", 12.5e9, 2}, {"dgx-a100", 25e9, 1}, {"hgx-h100", 50e9, 1}})
    for (const int gpus : {1, 2, 4, 8}) {
      // Two GPUs of a DGX-1 also take the adapter of the next switch, as NCCL's search does.
      if (each == 2 && gpus == 2)
        continue;
      INFO(platform << " " << gpus);
      const int adapters = std::max(1, gpus / each);
      const double all = speed("all_reduce_perf", platform, gpus);
      CHECK(all <= adapters * adapter);
      CHECK(all > 0.85 * adapters * adapter);
      // Every adapter carries one message each way at most.
      CHECK(speed("sendrecv_perf", platform, gpus) > 0.95 * adapter);
    }
}

TEST_CASE("one thread that launches on many GPUs is what small calls wait for", "[collectives]")
{
  const auto spec = platforms::load_platform(std::string("dgx1-v100"));
  experiments::NcclTestsOptions options;
  options.gpus_per_node = 8;
  options.sizes = {1024, 1e9};
  options.library = resolve_preset(std::string("nccl-2.4"), models::kLibraryKind);
  const auto& all_reduce = *experiments::find_nccl_test("all_reduce_perf");
  const auto alone = experiments::run_nccl_test(all_reduce, spec, stack(), options);
  options.gpus_per_thread = 8;
  const auto rows = experiments::run_nccl_test(all_reduce, spec, stack(), options);
  CHECK_THAT(rows[0].time, test::is(8 * models::load_library(options.library).host_launch.value()));
  CHECK(rows[0].time > alone[0].time);
  CHECK_THAT(rows[1].time, test::is(alone[1].time));
}

TEST_CASE("switches that add carry the buffer once each way, whatever the number of nodes",
          "[collectives]")
{
  const auto spec = platforms::load_platform(std::string("dgx-a100"));
  for (const int nodes : {2, 5}) {
    const Run run(spec, nodes, "sharp");
    const double wire = platforms::wire_expansion(run.machine.framing());
    for (const char* way : {"/tx", "/rx"}) {
      double sum = 0;
      for (const int nic : run.machine.training_nics())
        sum += run.through("node1/" + spec.node.nics[static_cast<std::size_t>(nic)].name, way);
      CHECK_THAT(sum / wire, test::is(kSize));
    }
    // On two nodes a hierarchical ring carries as much: 2 (N - 1) / N = 1.
    CHECK(run.choice.rate.value() >=
          Run(spec, nodes, "hierarchical").choice.rate.value() * (nodes > 2 ? 1.05 : 1 - 1e-9));
  }
  // A fabric that cannot add refuses.
  CHECK_THROWS_AS(Run(platforms::load_platform(std::string("dgx1-v100")), 2, "sharp"), UsageError);
}

TEST_CASE("sends to a GPU without a link of its own go by way of a common neighbour",
          "[collectives]")
{
  sim::Engine engine;
  const platforms::Machine machine(engine, platforms::load_platform(std::string("dgx1-v100")),
                                   stack(), 1);
  // 0 and 5 are not joined: 0-1-5 has one and two bricks, 0-4-5 two and one.
  const sim::Hop relayed = machine.relay_hop({0, 0}, {0, 5});
  CHECK(relayed.reach == sim::Reach::nvlink);
  CHECK(relayed.uses.size() == 2);
  CHECK(machine.hop({0, 0}, {0, 5}, platforms::Mover::collective).reach == sim::Reach::pcie);
  // Joined GPUs do not need it.
  CHECK(machine.relay_hop({0, 0}, {0, 1}).uses.size() == 1);
}

// Between nodes pieces that wait for an adapter hide latencies of each other, which only chunks
// see.
TEST_CASE("rings of an idle machine take as long at every fidelity", "[collectives][property]")
{
  const auto spec =
      platforms::load_platform(resolve_preset(std::string("dgx1-v100"), platforms::kPlatformKind));
  const models::Library library =
      models::load_library(resolve_preset(std::string("nccl"), models::kLibraryKind));
  for (const int nodes : {1, 2})
    for (const double size : {64e3, 256e3, 1e6, 16e6}) {
      const auto time = [&](models::Fidelity fidelity) {
        sim::Engine engine;
        const platforms::Machine machine(engine, spec, stack(), nodes);
        std::vector<platforms::GpuPlace> ranks;
        for (int node = 0; node < nodes; ++node)
          for (int gpu = 0; gpu < spec.gpus_per_node(); ++gpu)
            ranks.push_back({node, gpu});
        const models::Collective collective(
            engine, platforms::make_communicator(machine, ranks, "test", platforms::GraphRules{}),
            library, models::Operation::all_reduce, "ring");
        sim::TaskGraph graph(engine, "test");
        std::vector<sim::TaskId> flows;
        const sim::TaskId end =
            collective.add(graph, graph.add_join("begin"), Bytes(size), 0, fidelity, flows);
        graph.start(nullptr);
        engine.run();
        return graph.finished(end).value();
      };
      CAPTURE(nodes, size);
      const double coupled = time(models::Fidelity::coupled);
      CHECK_THAT(time(models::Fidelity::edges), test::is(coupled));
      const double chunks = time(models::Fidelity::chunks);
      CHECK(chunks <= coupled * (1 + 1e-9));
      CHECK(chunks > (nodes == 1 ? 0.99 : 0.7) * coupled);
    }
}

} // namespace foretrain::collective_properties_test
