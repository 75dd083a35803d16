// Cuts through a machine, by maximum flow.
#include "platforms/show.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace foretrain::platforms {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, long long,
        boost::property<boost::edge_residual_capacity_t, long long,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr unsigned kMostSplit = 16; // GPUs of which every half is tried

constexpr double kBoundless = 1e16; // more than any machine moves, and sums still fit a long long

class FlowNetwork {
public:
  explicit FlowNetwork(std::size_t vertices) : graph_(vertices) {}

  void add_both_ways(std::size_t a, std::size_t b, double capacity)
  {
    add(a, b, capacity);
    add(b, a, capacity);
  }

  void add_joins(const NodeGraph& node)
  {
    for (const Join& join : node.joins())
      add_both_ways(static_cast<std::size_t>(join.lower), static_cast<std::size_t>(join.upper),
                    join.capacity.value());
  }

  void add(std::size_t a, std::size_t b, double capacity)
  {
    const auto forward = boost::add_edge(a, b, graph_).first;
    const auto backward = boost::add_edge(b, a, graph_).first;
    boost::put(boost::edge_capacity, graph_, forward, std::llround(capacity)); // whole bytes: exact
    boost::put(boost::edge_capacity, graph_, backward, 0LL);
    boost::put(boost::edge_reverse, graph_, forward, backward);
    boost::put(boost::edge_reverse, graph_, backward, forward);
  }

  double maximum(std::size_t source, std::size_t sink)
  {
    return static_cast<double>(boost::push_relabel_max_flow(graph_, source, sink));
  }

private:
  FlowGraph graph_;
};

// What a node's GPUs bring to the network that jobs train over: through its adapters, and through
// the slots and switches on the way to them.
double into_network(const PlatformSpec& spec)
{
  const NodeGraph node(spec);
  const std::size_t source = node.parts().size();
  const std::size_t sink = source + 1;
  FlowNetwork network(sink + 1);
  network.add_joins(node);
  for (int gpu = 0; gpu < node.gpus(); ++gpu)
    network.add(source, static_cast<std::size_t>(node.gpu(gpu)), kBoundless);
  for (const auto& name : spec.networks.front().nics)
    for (std::size_t i = 0; i < spec.node.nics.size(); ++i)
      if (spec.node.nics[i].name == name)
        network.add(static_cast<std::size_t>(node.nic(static_cast<int>(i))), sink,
                    spec.nics[i].rate.value());
  return network.maximum(source, sink);
}

} // namespace

BytesPerSecond node_bisection(const PlatformSpec& spec)
{
  const NodeGraph graph(spec);
  const auto gpus = static_cast<unsigned>(graph.gpus());
  const std::size_t parts = graph.parts().size();
  const std::size_t hub = parts; // the NVSwitch, if there is one
  const auto cut = [&](const auto& is_left) {
    FlowNetwork network(parts + 3);
    network.add_joins(graph);
    for (unsigned a = 0; a < gpus; ++a) {
      const auto at = static_cast<std::size_t>(graph.gpu(static_cast<int>(a)));
      if (graph.nvswitch())
        network.add_both_ways(at, hub, spec.gpu.nvlink_brick.value() * spec.gpu.nvlink_bricks);
      else
        for (unsigned b = 0; b < a; ++b)
          network.add_both_ways(at, static_cast<std::size_t>(graph.gpu(static_cast<int>(b))),
                                spec.gpu.nvlink_brick.value() *
                                    graph.bricks(static_cast<int>(a), static_cast<int>(b)));
      is_left(a) ? network.add(parts + 1, at, kBoundless) : network.add(at, parts + 2, kBoundless);
    }
    return network.maximum(parts + 1, parts + 2);
  };
  if (gpus > kMostSplit) {
    const auto before = [&](unsigned a) { // in the order of sockets
      const int socket = graph.socket_of(graph.gpu(static_cast<int>(a)));
      unsigned count = 0;
      for (unsigned b = 0; b < gpus; ++b) {
        const int other = graph.socket_of(graph.gpu(static_cast<int>(b)));
        count += other < socket || (other == socket && b < a) ? 1 : 0;
      }
      return count;
    };
    return BytesPerSecond(cut([&](unsigned a) { return before(a) < gpus / 2; }));
  }
  double least = kBoundless;
  // GPU 0 stays on the left: a split and its mirror image are the same cut on full-duplex links.
  for (unsigned split = 1; split < (1U << gpus); split += 2)
    if (static_cast<unsigned>(std::popcount(split)) == gpus / 2)
      least = std::min(least, cut([&](unsigned a) { return ((split >> a) & 1U) != 0; }));
  return BytesPerSecond(least);
}

BytesPerSecond cluster_bisection(const PlatformSpec& spec, int nodes)
{
  if (spec.networks.empty() || nodes < 2)
    return BytesPerSecond(0);
  const int half = nodes / 2; // of an odd number the smaller one
  const bool tiers =
      nodes * static_cast<int>(spec.networks.front().nics.size()) > spec.fabrics.front().ports;
  return BytesPerSecond(half * into_network(spec) /
                        (tiers ? spec.fabrics.front().oversubscription : 1.0));
}

} // namespace foretrain::platforms
