// Rings over GPUs that are joined each to each by one link: every link carries as much as every
// other one, whatever the number of GPUs, so that n GPUs have n - 1 links each at work.
#include "platforms/mesh_graph.hpp"

#include "platforms/graph_search.hpp"
#include "platforms/machine.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace foretrain::mesh_graph_test {

using namespace foretrain::platforms;
using test::stack_of;

namespace {

constexpr double kLink = 48; // GB/s, what RCCL takes a link to carry

CollectiveGraphs graphs(const std::vector<int>& gpus, bool between)
{
  const PlatformSpec spec = load_platform(std::string("mi300x-8"));
  const Stack stack = stack_of("rdma");
  SearchRules rules;
  rules.tables = true;
  return search_graphs(spec, NodeGraph(spec), stack, gpus,
                       between ? find_network(spec, stack.transport).nics : std::vector<int>{},
                       rules);
}

std::vector<int> first(int gpus)
{
  std::vector<int> list(static_cast<std::size_t>(gpus));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// How many channels cross each link, directions apart.
std::map<std::pair<int, int>, int> crossings(const CollectiveGraph& graph, bool closed)
{
  std::map<std::pair<int, int>, int> crossed;
  for (const auto& order : graph.orders)
    for (std::size_t i = 0; i + (closed ? 0 : 1) < order.size(); ++i)
      ++crossed[{order[i], order[(i + 1) % order.size()]}];
  return crossed;
}

} // namespace

TEST_CASE("rings over a full mesh use every link alike", "[graphs][closed-form]")
{
  for (int n = 2; n <= 8; ++n)
    for (const bool between : {false, true}) {
      CAPTURE(n, between);
      const CollectiveGraph ring = graphs(first(n), between).ring;
      CHECK(ring.channels == static_cast<int>(ring.orders.size()));
      CHECK(ring.reach_inside == PathReach::nvlink);
      CHECK(ring.bandwidth_between == ring.bandwidth_inside); // of a channel, wherever it leads
      for (auto order : ring.orders) {
        std::sort(order.begin(), order.end());
        CHECK(order == first(n));
      }
      const auto crossed = crossings(ring, !between);
      CHECK(crossed.size() == static_cast<std::size_t>(n * (n - 1)));
      for (const auto& [link, channels] : crossed)
        CHECK(channels * ring.bandwidth_inside == kLink);
      if (!between)
        CHECK(ring.channels * ring.bandwidth_inside == (n - 1) * kLink);
    }
}

TEST_CASE("between nodes every GPU's own adapter takes as many rings in as out",
          "[graphs][closed-form]")
{
  for (const auto& gpus : {first(8), first(5), std::vector<int>{1, 3, 6, 7}}) {
    const CollectiveGraph ring = graphs(gpus, true).ring;
    std::map<int, int> in, out;
    for (std::size_t c = 0; c < ring.orders.size(); ++c) {
      CHECK(ring.nics[c][0] == ring.orders[c].front()); // adapter n is beside GPU n
      CHECK(ring.nics[c][1] == ring.orders[c].back());
      ++in[ring.nics[c][0]];
      ++out[ring.nics[c][1]];
    }
    CHECK(in == out);
    CHECK(in.size() == gpus.size());
    for (const auto& [nic, rings] : in)
      CHECK(rings == 2);
  }
}

TEST_CASE("trees over a full mesh leave a node where they came in", "[graphs]")
{
  const CollectiveGraph tree = graphs(first(8), true).tree;
  CHECK(tree.channels == 16);
  for (std::size_t c = 0; c < tree.orders.size(); ++c) {
    CHECK(tree.nics[c][0] == tree.orders[c].front());
    CHECK(tree.nics[c][1] == tree.nics[c][0]);
  }
}

TEST_CASE("tables are for meshes alone", "[graphs]")
{
  const PlatformSpec spec = load_platform(std::string("dgx1-v100"));
  SearchRules tables;
  tables.tables = true;
  const auto found = [&](const SearchRules& rules) {
    return search_graphs(spec, NodeGraph(spec), stack_of("rdma"), first(8), {}, rules).ring.orders;
  };
  CHECK(found(tables) == found({}));
}

} // namespace foretrain::mesh_graph_test
