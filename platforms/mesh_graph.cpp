#include "platforms/mesh_graph.hpp"

#include <algorithm>

namespace foretrain::platforms {

namespace {

constexpr int kEachWay = 2; // channels that cross a link in one direction

// Places on a circle of m in the order of the zigzag that begins at `turn`.
std::vector<int> zigzag(int m, int turn)
{
  std::vector<int> places;
  for (int step = 0; step < m; ++step) {
    const int off = step % 2 == 1 ? (step + 1) / 2 : m - step / 2;
    places.push_back((turn + off) % m);
  }
  return places;
}

std::vector<std::vector<int>> orders_of(int gpus, bool closed)
{
  const int circle = closed ? gpus - 1 : gpus;
  std::vector<std::vector<int>> orders;
  for (int turn = 0; turn < circle; ++turn) {
    std::vector<int> order = zigzag(circle, turn);
    if (closed)
      order.push_back(gpus - 1); // the middle
    orders.push_back(order);
    std::reverse(order.begin(), order.end());
    orders.push_back(order);
  }
  return orders;
}

CollectiveGraph over_mesh(const SearchSystem& system, bool tree)
{
  const bool between = system.nets() > 0;
  CollectiveGraph graph;
  graph.pattern = tree ? GraphPattern::tree : GraphPattern::ring;
  graph.orders = orders_of(system.gpus(), !between && !tree);
  graph.channels = static_cast<int>(graph.orders.size());
  graph.bandwidth_inside = system.mesh_bandwidth() / kEachWay / (tree ? 2 : 1);
  graph.bandwidth_between = graph.bandwidth_inside;
  graph.reach_inside = PathReach::nvlink;
  // The n-th of the adapters that a GPU calls its own, for the n-th channel that ends beside it.
  std::vector<int> taken(static_cast<std::size_t>(system.gpus()), 0);
  const auto adapter = [&](int gpu) {
    const auto& own = system.nets_of(gpu, PathReach::local);
    const auto turn = static_cast<std::size_t>(taken[static_cast<std::size_t>(gpu)]++);
    const int net = own[turn % own.size()];
    const auto& path = system.path(system.gpu(gpu), system.net(net));
    graph.reach_between = std::max(graph.reach_between, path.reach);
    graph.bandwidth_between = std::min(graph.bandwidth_between, path.bandwidth / kEachWay);
    return system.nic_number(net);
  };
  for (std::vector<int>& order : graph.orders) {
    graph.nics.push_back({-1, -1});
    if (between) {
      const int in = adapter(order.front());
      graph.nics.back() = {in, tree ? in : adapter(order.back())};
    }
    for (int& gpu : order)
      gpu = system.gpu_number(gpu);
  }
  return graph;
}

} // namespace

CollectiveGraph mesh_rings(const SearchSystem& system)
{
  return over_mesh(system, false);
}

CollectiveGraph mesh_trees(const SearchSystem& system)
{
  return over_mesh(system, true);
}

} // namespace foretrain::platforms
