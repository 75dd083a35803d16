#include "platforms/rings.hpp"

#include "sim/engine/random.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace foretrain::rings_test {

using namespace foretrain::platforms;

namespace {

Stack bare_metal()
{
  return {load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
          load_transport(resolve_preset(std::string("rdma"), kTransportKind))};
}

std::vector<GpuPlace> first(int gpus, int per_node)
{
  std::vector<GpuPlace> ranks;
  for (int g = 0; g < gpus; ++g)
    ranks.push_back({g / per_node, g % per_node});
  return ranks;
}

} // namespace

TEST_CASE("rings are Hamiltonian and never use a brick twice, on random meshes",
          "[rings][property][long]")
{
  const auto base = resolve_preset(std::string("dgx1-v100"), kPlatformKind);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    sim::RandomStream random(seed, "mesh");
    const int gpus = 2 + static_cast<int>(random() % 7);
    Json pairs = Json::array();
    std::vector<int> free(8, 6);
    for (int a = 0; a < 8; ++a)
      for (int b = a + 1; b < 8; ++b) {
        const auto i = static_cast<std::size_t>(a);
        const auto j = static_cast<std::size_t>(b);
        const int bricks = std::min({static_cast<int>(random() % 3), free[i], free[j]});
        if (bricks > 0)
          pairs.push_back({a, b, bricks});
        free[i] -= bricks;
        free[j] -= bricks;
      }
    auto document = std::make_shared<Document>(*base.document());
    document->root["node"]["nvlink"] = {{"pairs", pairs}};
    const auto spec = load_platform(Value(std::shared_ptr<const Document>(document)));
    const NodeGraph graph(spec);
    std::vector<int> chosen;
    for (int g = 0; g < gpus; ++g)
      chosen.push_back(g);
    const auto ring = search_graphs(spec, graph, bare_metal(), chosen, {}, {}).ring;
    if (ring.reach_inside != PathReach::nvlink)
      continue;
    std::map<std::pair<int, int>, double> used; // GB/s, each direction apart
    for (const auto& order : ring.orders) {
      CHECK(std::set<int>(order.begin(), order.end()).size() == chosen.size());
      for (std::size_t i = 0; i < order.size(); ++i)
        used[{order[i], order[(i + 1) % order.size()]}] += ring.bandwidth_inside;
    }
    for (const auto& [pair, bandwidth] : used) {
      CAPTURE(seed, pair.first, pair.second);
      CHECK(bandwidth <= 20.0 * graph.bricks(pair.first, pair.second) + 1e-9);
    }
  }
}

TEST_CASE("a library that does not search makes one ring in the order of the devices", "[rings]")
{
  sim::Engine engine;
  const Machine machine(engine, load_platform("dgx1-p100"), bare_metal(), 1);
  const auto comm = make_communicator(machine, first(8, 8), "job", {sim::RingOrder::devices, {}});
  REQUIRE(comm.channels.size() == 1);
  const auto& hops = comm.channels.front().hops;
  REQUIRE(hops.size() == 8);
  for (std::size_t i = 0; i < hops.size(); ++i) { // GPUs 3 and 4, 7 and 0 have no NVLink
    CHECK(comm.channels.front().ring[i] == static_cast<int>(i));
    CHECK((hops[i].reach == sim::Reach::nvlink) == (i != 3 && i != 7));
  }
}

TEST_CASE("between nodes every adapter has a ring that enters and leaves near it", "[rings]")
{
  sim::Engine engine;
  const auto spec = load_platform("dgx1-v100");
  const Machine machine(engine, spec, bare_metal(), 2);
  const auto comm = make_communicator(machine, first(16, 8), "job");
  REQUIRE(comm.channels.size() == 4);
  for (std::size_t c = 0; c < comm.channels.size(); ++c) {
    const auto& channel = comm.channels[c];
    CHECK(std::set<int>(channel.ring.begin(), channel.ring.end()).size() == 16);
    int crossings = 0;
    for (const auto& hop : channel.hops)
      if (hop.reach == sim::Reach::network) {
        ++crossings;
        CHECK(hop.from % 8 / 2 ==
              static_cast<int>(c)); // GPUs 2c and 2c+1 share the adapter's switch
        CHECK(hop.to % 8 / 2 == static_cast<int>(c));
      }
    CHECK(crossings == 2);
  }
}

TEST_CASE("a job on parts of nodes gets a ring through exactly its GPUs", "[rings]")
{
  sim::Engine engine;
  const Machine machine(engine, load_platform("c4140-m-v100-sxm2"), bare_metal(), 3);
  const std::vector<GpuPlace> ranks = {{0, 2}, {0, 3}, {1, 0}, {2, 1}, {2, 2}, {2, 3}};
  const auto comm = make_communicator(machine, ranks, "job");
  CHECK(comm.nodes == 3);
  for (const auto& channel : comm.channels) {
    CHECK(std::set<int>(channel.ring.begin(), channel.ring.end()) ==
          std::set<int>{0, 1, 2, 3, 4, 5});
    for (const auto& hop : channel.hops) {
      const auto a = ranks[static_cast<std::size_t>(hop.from)];
      const auto b = ranks[static_cast<std::size_t>(hop.to)];
      CHECK((hop.reach == sim::Reach::network) == (a.node != b.node));
    }
  }
}

TEST_CASE("exchanges pass no GPU that their communicator does not have", "[rings][property][long]")
{
  for (const char* name : {"dgx-a100", "a3-mega", "dgx1-v100", "p4de", "hgx-h100", "gb200-nvl72"})
    for (const char* library : {"before PXN", "with PXN"})
      for (const std::vector<int>& local :
           {std::vector{0}, {1}, {3}, {1, 5}, {2, 6}, {0, 3}, {1, 3}, {1, 3, 5, 7}, {0, 2, 4, 6}}) {
        CAPTURE(name, library, local);
        sim::Engine engine;
        const Machine machine(engine, load_platform(name), bare_metal(), 2);
        std::vector<GpuPlace> ranks;
        for (const int node : {0, 1})
          for (const int gpu : local)
            ranks.push_back({node, gpu});
        GraphRules rules;
        rules.search.version = library == std::string_view("with PXN") ? 22707 : 20800;
        const auto comm = make_communicator(machine, ranks, "job", rules);
        std::set<std::string> foreign;
        const auto look_at = [&](const sim::Hop& hop) {
          for (const sim::Use& use : hop.uses) {
            const std::string part = engine.resource({use.resource}).part;
            if (!part.starts_with("gpu"))
              continue;
            const int gpu = std::stoi(part.substr(3));
            if (std::find(local.begin(), local.end(), gpu) == local.end())
              foreign.insert(part);
          }
        };
        for (const auto& channel : comm.channels)
          for (const auto& hop : channel.hops)
            look_at(hop);
        const int across = static_cast<int>(local.size());
        for (int from = 0; from < across; ++from)
          for (const int channel : {0, 1, sim::Communicator::kNearest}) {
            look_at(comm.connect(from, across + from, channel));
            look_at(comm.connect_tree(across - 1 - from, across + from, channel));
          }
        CHECK(foreign.empty());
      }
}

TEST_CASE("groups of a node that exchange at once share its adapters out among them", "[rings]")
{
  // Two GPUs and two adapters on each PCIe switch: of two of them each GPU has its own.
  sim::Engine engine;
  const Machine machine(engine, load_platform("dgx-a100"), bare_metal(), 2);
  std::map<std::string, double> load; // of a byte in each group
  for (int first = 0; first < 4; ++first) {
    const auto comm =
        make_communicator(machine, {{0, first}, {0, first + 4}, {1, first}, {1, first + 4}}, "job");
    for (const auto& channel : comm.channels)
      for (const auto& hop : channel.hops)
        for (const sim::Use& use : hop.uses)
          if (engine.resource({use.resource}).kind == sim::ResourceKind::adapter ||
              engine.resource({use.resource}).kind == sim::ResourceKind::pcie)
            load[sim::name_of(engine.resource({use.resource}))] += channel.share * use.weight;
  }
  double most = 0;
  int adapters = 0;
  for (const auto& [name, weight] : load) {
    most = std::max(most, weight);
    adapters += name.ends_with("/tx") && weight > 0.4 ? 1 : 0;
  }
  CHECK(adapters == 2 * 8);
  CHECK(most < 0.6); // each of its two channels carries half of a group's bytes
}

TEST_CASE("channels that take one way carry the share of all of them", "[rings][property][long]")
{
  sim::Engine engine;
  const Machine machine(engine, load_platform("dgx1-v100"), bare_metal(), 1);
  bool uneven = false;
  for (unsigned subset = 3; subset < 256; subset += 4) {
    std::vector<GpuPlace> ranks;
    std::vector<int> gpus;
    for (int gpu = 0; gpu < 8; ++gpu)
      if ((subset >> static_cast<unsigned>(gpu) & 1U) != 0) {
        ranks.push_back({0, gpu});
        gpus.push_back(gpu);
      }
    if (gpus.size() < 2)
      continue;
    const auto comm = make_communicator(machine, ranks, "job");
    const CollectiveGraph ring = graphs_of(machine, gpus, false, {}).ring;
    double all = 0;
    for (const auto& channel : comm.channels) {
      std::vector<int> order;
      for (const int rank : channel.ring)
        order.push_back(gpus[static_cast<std::size_t>(rank)]);
      const auto alike = std::count(ring.orders.begin(), ring.orders.end(), order);
      CAPTURE(subset);
      CHECK_THAT(channel.share, test::is(static_cast<double>(alike) / ring.channels));
      uneven |= channel.share != comm.channels.front().share;
      all += channel.share;
    }
    CHECK_THAT(all, test::is(1));
  }
  CHECK(uneven);
}

TEST_CASE("a communicator is as wide as what its narrowest node finds", "[rings][property][long]")
{
  sim::Engine engine;
  const Machine machine(engine, load_platform("dgx1-v100"), bare_metal(), 3);
  sim::RandomStream random(5, "parts of nodes");
  std::set<int> widths; // channels
  for (int draw = 0; draw < 12; ++draw) {
    std::vector<GpuPlace> ranks;
    std::vector<std::vector<int>> local(2 + static_cast<std::size_t>(draw % 2));
    for (std::size_t node = 0; node < local.size(); ++node) {
      for (int gpu = 0; gpu < 8; ++gpu)
        if (random() % 2 == 0 || (gpu == 7 && local[node].empty())) {
          local[node].push_back(gpu);
          ranks.push_back({static_cast<int>(node), gpu});
        }
    }
    const auto comm = make_communicator(machine, ranks, "job");
    const auto check = [&](const sim::GraphAssumption& told,
                           CollectiveGraph CollectiveGraphs::*of) {
      int channels = 1 << 20;
      double inside = 1e30;
      double between = 1e30;
      bool nvlink = true;
      bool near = true;
      for (const auto& gpus : local) {
        const CollectiveGraph graph = graphs_of(machine, gpus, true, {}).*of;
        channels = std::min(channels, graph.channels);
        inside = std::min(inside, 1e9 * graph.bandwidth_inside);
        between = std::min(between, 1e9 * graph.bandwidth_between);
        nvlink = nvlink && (gpus.size() == 1 || graph.reach_inside <= PathReach::nvlink_relay);
        near = near && graph.reach_between <= PathReach::pxb; // of a V100
      }
      CAPTURE(draw);
      CHECK(told.channels == channels);
      CHECK(told.inside == inside);
      CHECK(told.between == between);
      CHECK(told.nvlink == nvlink);
      CHECK(told.near_adapter == near);
      widths.insert(channels);
    };
    check(comm.ring_graph, &CollectiveGraphs::ring);
    check(comm.tree_graph, &CollectiveGraphs::tree);
    CHECK(static_cast<int>(comm.channels.size()) <= comm.ring_graph.channels);
  }
  CHECK(widths.size() > 1);
}

} // namespace foretrain::rings_test
