#include "platforms/rings.hpp"

#include "platforms/socket_threads.hpp"

#include <algorithm>
#include <map>

namespace foretrain::platforms {

CollectiveGraphs graphs_of(const Machine& machine, const std::vector<int>& gpus, bool between,
                           const SearchRules& rules)
{
  return search_graphs(machine.spec(), machine.graph(), machine.stack(), gpus,
                       between ? machine.training_nics() : std::vector<int>{}, rules);
}

namespace {

// The communicator's nodes are those that the library tells apart: the cluster's, or the GPUs in
// containers of their own.
struct RankLayout {
  const Machine& machine;
  std::vector<int> nodes;              // cluster node of the communicator's nodes, in order
  std::vector<std::vector<int>> local; // GPUs of each
  std::map<GpuPlace, int> rank_of;
  std::map<std::vector<int>, CollectiveGraphs> graphs; // most nodes hold the same GPUs

  const CollectiveGraphs& graphs_at(std::size_t node) const { return graphs.at(local[node]); }
};

using GraphOf = const CollectiveGraph& (*)(const CollectiveGraphs&);

const CollectiveGraph& ring_of(const CollectiveGraphs& graphs)
{
  return graphs.ring;
}
const CollectiveGraph& tree_of(const CollectiveGraphs& graphs)
{
  return graphs.tree;
}
const CollectiveGraph& switch_of(const CollectiveGraphs& graphs)
{
  return graphs.in_switch;
}

// Channels that every node has, those that take the same way in all nodes as one: index of each
// and how many are alike.
AlikeChannels distinct_channels(const RankLayout& job, GraphOf graph)
{
  int common = graph(job.graphs.begin()->second).channels;
  for (const auto& [gpus, found] : job.graphs)
    common = std::min(common, graph(found).channels);
  AlikeChannels distinct;
  for (std::size_t c = 0; c < static_cast<std::size_t>(common); ++c) {
    const auto same = std::find_if(distinct.begin(), distinct.end(), [&](const auto& other) {
      return std::all_of(job.graphs.begin(), job.graphs.end(), [&](const auto& entry) {
        const CollectiveGraph& g = graph(entry.second);
        return g.orders[other.first] == g.orders[c] && g.nics[other.first] == g.nics[c];
      });
    });
    if (same == distinct.end())
      distinct.emplace_back(c, 1);
    else
      ++same->second;
  }
  return distinct;
}

double share_of(const AlikeChannels& channels, int alike)
{
  int all = 0;
  for (const auto& [c, count] : channels)
    all += count;
  return static_cast<double>(alike) / all;
}

enum class End { first, last };

// Channels of a graph that meet the network at the same GPU of a node as channel c, c among them.
int meeting(const CollectiveGraph& graph, const AlikeChannels& channels, std::size_t c, End end)
{
  const auto gpu = [&](std::size_t channel) {
    return end == End::first ? graph.orders[channel].front() : graph.orders[channel].back();
  };
  int all = 0;
  for (const auto& [other, alike] : channels)
    all += gpu(other) == gpu(c) ? alike : 0;
  return all;
}

// Inside a node the search may lead over a GPU between two others.
sim::Hop local_hop(const RankLayout& job, GpuPlace a, GpuPlace b, PathReach reach)
{
  return reach == PathReach::nvlink_relay ? job.machine.relay_hop(a, b)
                                          : job.machine.hop(a, b, Mover::collective);
}

// From one of the communicator's nodes to another over these adapters, for `alike` channels of
// `sharing` that meet the network at one GPU.
sim::Hop hop_between(const Machine& machine, const SocketThreads& threads,
                     const Machine::NetworkEnd& from, const Machine::NetworkEnd& to, int alike,
                     int sharing)
{
  if (from.gpu.node == to.gpu.node) // containers of one machine
    return machine.hop(from.gpu, to.gpu, Mover::collective);
  sim::Hop hop = machine.network_hop(from, to);
  threads.raise(hop, alike, sharing, from.nic, to.nic);
  return hop;
}

sim::Channel ring_channel(const RankLayout& job, const SocketThreads& threads,
                          const AlikeChannels& channels, std::pair<std::size_t, int> which)
{
  const auto [c, alike] = which;
  sim::Channel channel;
  struct Stop {
    GpuPlace place;
    std::size_t node;
  };
  std::vector<Stop> stops;
  for (std::size_t n = 0; n < job.nodes.size(); ++n)
    for (const int gpu : job.graphs_at(n).ring.orders[c])
      stops.push_back({{job.nodes[n], gpu}, n});
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const Stop& a = stops[i];
    const Stop& b = stops[(i + 1) % stops.size()];
    const CollectiveGraphs& found_from = job.graphs_at(a.node);
    const CollectiveGraphs& found_to = job.graphs_at(b.node);
    const CollectiveGraph& from = found_from.ring;
    const CollectiveGraph& to = found_to.ring;
    const int out = from.nics[c][1];
    const int in = to.nics[c][0];
    channel.ring.push_back(job.rank_of.at(a.place));
    channel.hops.push_back(a.node == b.node
                               ? local_hop(job, a.place, b.place, from.reach_inside)
                               : hop_between(job.machine, threads,
                                             {a.place, out, found_from.owners.of(out)},
                                             {b.place, in, found_to.owners.of(in)}, alike,
                                             std::max(meeting(from, channels, c, End::last),
                                                      meeting(to, channels, c, End::first))));
    channel.hops.back().from = job.rank_of.at(a.place);
    channel.hops.back().to = job.rank_of.at(b.place);
  }
  return channel;
}

sim::Channel device_ring(const RankLayout& job)
{
  sim::Channel channel;
  const auto& gpus = job.local.front();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const GpuPlace a{job.nodes.front(), gpus[i]};
    const GpuPlace b{job.nodes.front(), gpus[(i + 1) % gpus.size()]};
    channel.ring.push_back(job.rank_of.at(a));
    channel.hops.push_back(job.machine.hop(a, b, Mover::collective));
    channel.hops.back().from = job.rank_of.at(a);
    channel.hops.back().to = job.rank_of.at(b);
  }
  return channel;
}

// The channels of a tree; the chain of a switch's channel is its head alone.
std::vector<sim::TreeChannel> tree_channels(const RankLayout& job, GraphOf graph, bool heads)
{
  std::vector<sim::TreeChannel> channels;
  const auto distinct = distinct_channels(job, graph);
  for (const auto& [c, alike] : distinct) {
    sim::TreeChannel channel;
    channel.share = share_of(distinct, alike);
    for (std::size_t n = 0; n < job.nodes.size(); ++n) {
      channel.chains.emplace_back();
      const CollectiveGraph& found = graph(job.graphs_at(n));
      for (const int gpu : found.orders[c]) {
        channel.chains.back().push_back(job.rank_of.at({job.nodes[n], gpu}));
        if (heads)
          break;
      }
      if (!heads && found.pattern != GraphPattern::tree && found.orders[c].size() > 1)
        channel.second = 1;
    }
    channels.push_back(std::move(channel));
  }
  return channels;
}

sim::GraphAssumption assumption(const RankLayout& job, GraphOf graph)
{
  sim::GraphAssumption least;
  bool first = true;
  const double capability = job.machine.spec().gpu.compute_capability;
  for (const auto& [gpus, found] : job.graphs) {
    const CollectiveGraph& g = graph(found);
    const bool single = gpus.size() == 1;
    const bool nvlink = g.reach_inside <= PathReach::nvlink_relay || single;
    const bool near = g.reach_between <= (capability >= 9 ? PathReach::pxn : PathReach::pxb);
    if (first || g.channels < least.channels)
      least.channels = g.channels;
    least.inside =
        first ? g.bandwidth_inside * 1e9 : std::min(least.inside, g.bandwidth_inside * 1e9);
    least.between =
        first ? g.bandwidth_between * 1e9 : std::min(least.between, g.bandwidth_between * 1e9);
    least.nvlink = (first || least.nvlink) && nvlink;
    least.near_adapter = (first || least.near_adapter) && (near || job.nodes.size() == 1);
    least.simple_tree = least.simple_tree || g.pattern == GraphPattern::tree;
    first = false;
  }
  return least;
}

// A function from two ranks to the hop between them, over the adapters of a channel that carries
// `halves` patterns at a time.
std::function<sim::Hop(int, int, int)>
connector(const RankLayout& job, const std::vector<GpuPlace>& ranks,
          const std::vector<int>& node_of, const SocketThreads& threads, GraphOf graph, int halves)
{
  struct NodeEnds { // of the communicator
    PathReach reach = PathReach::local;
    AdapterOwners owners{};
    std::vector<int> nics{};    // adapter of each channel
    std::vector<int> sharing{}; // how many have its GPU at the network
  };
  struct Ends {
    const Machine& machine;
    SocketThreads threads;
    std::vector<GpuPlace> ranks;
    std::vector<int> node_of;
    AlikeChannels distinct;
    std::vector<NodeEnds> nodes{};
  };
  const auto distinct = distinct_channels(job, graph);
  auto ends = std::make_shared<Ends>(Ends{job.machine, threads, ranks, node_of, distinct});
  for (std::size_t n = 0; n < job.nodes.size(); ++n) {
    const CollectiveGraph& found = graph(job.graphs_at(n));
    NodeEnds node{found.reach_inside, job.graphs_at(n).owners};
    for (const auto& [c, alike] : distinct) {
      node.nics.push_back(found.nics[c][0]);
      node.sharing.push_back(halves * meeting(found, distinct, c, End::first));
    }
    ends->nodes.push_back(std::move(node));
  }
  return [ends](int from, int to, int channel) {
    const GpuPlace a = ends->ranks[static_cast<std::size_t>(from)];
    const GpuPlace b = ends->ranks[static_cast<std::size_t>(to)];
    const auto node = [&](int rank) -> const NodeEnds& {
      return ends->nodes[static_cast<std::size_t>(ends->node_of[static_cast<std::size_t>(rank)])];
    };
    const bool nearest = channel == sim::Communicator::kNearest || ends->distinct.empty();
    const std::size_t c = nearest ? 0 : static_cast<std::size_t>(channel) % ends->distinct.size();
    const auto between_nodes = [&] {
      const auto end = [&](int rank, GpuPlace gpu, int nic) -> Machine::NetworkEnd {
        return {gpu, nic, node(rank).owners.of(nic)};
      };
      if (!nearest)
        return hop_between(ends->machine, ends->threads, end(from, a, node(from).nics[c]),
                           end(to, b, node(to).nics[c]), ends->distinct[c].second,
                           std::max(node(from).sharing[c], node(to).sharing[c]));
      return ends->machine.over_adapters(a, b, [&](int out, int in) {
        return hop_between(ends->machine, ends->threads, end(from, a, out), end(to, b, in), 1, 1);
      });
    };
    sim::Hop hop = &node(from) != &node(to) ? between_nodes()
                   : node(from).reach == PathReach::nvlink_relay
                       ? ends->machine.relay_hop(a, b)
                       : ends->machine.hop(a, b, Mover::collective);
    hop.from = from;
    hop.to = to;
    return hop;
  };
}

RankLayout layout_of(const Machine& machine, const std::vector<GpuPlace>& ranks,
                     sim::Communicator& comm)
{
  RankLayout job{machine, {}, {}, {}, {}};
  const bool apart = machine.stack().host.container_per_gpu;
  std::map<GpuPlace, std::size_t> position;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const GpuPlace place{ranks[r].node, apart ? ranks[r].local : 0};
    const auto [at, added] = position.emplace(place, job.nodes.size());
    if (added) {
      job.nodes.push_back(ranks[r].node);
      job.local.emplace_back();
    }
    job.local[at->second].push_back(ranks[r].local);
    job.rank_of[ranks[r]] = static_cast<int>(r);
    comm.node_of.push_back(static_cast<int>(at->second));
  }
  for (auto& gpus : job.local)
    std::sort(gpus.begin(), gpus.end());
  comm.nodes = static_cast<int>(job.nodes.size());
  return job;
}

} // namespace

sim::Communicator make_communicator(const Machine& machine, const std::vector<GpuPlace>& ranks,
                                    const std::string& name, const GraphRules& rules)
{
  sim::Communicator comm;
  comm.name = name;
  comm.ranks = static_cast<int>(ranks.size());
  RankLayout job = layout_of(machine, ranks, comm);
  if (comm.ranks < 2)
    return comm;
  for (const auto& gpus : job.local)
    if (!job.graphs.contains(gpus))
      job.graphs.emplace(gpus, graphs_of(machine, gpus, comm.nodes > 1, rules.search));
  const SocketThreads threads(machine, rules.search);
  if (comm.nodes == 1 && rules.order == sim::RingOrder::devices) {
    comm.channels.push_back(device_ring(job));
  } else {
    const auto distinct = distinct_channels(job, &ring_of);
    for (const auto& [c, alike] : distinct) {
      comm.channels.push_back(ring_channel(job, threads, distinct, {c, alike}));
      comm.channels.back().share = share_of(distinct, alike);
    }
  }
  comm.ring_graph = assumption(job, &ring_of);
  if (rules.search.own_trees()) {
    comm.trees = tree_channels(job, &tree_of, false);
    comm.tree_graph = assumption(job, &tree_of);
  } else {
    comm.tree_graph = comm.ring_graph;
  }
  comm.in_network_reduction = machine.stack().host.nvlink && machine.graph().nvswitch() &&
                              machine.spec().node.nvlink.in_network_reduction;
  comm.switch_graph = assumption(job, &switch_of);
  if (comm.in_network_reduction && comm.nodes > 1 && comm.switch_graph.channels > 0)
    comm.heads = tree_channels(job, &switch_of, true);
  comm.in_network_efficiency = machine.spec().gpu.nvlink_in_switch_efficiency;
  comm.compute_capability = machine.spec().gpu.compute_capability;
  comm.amd_hosts = machine.spec().cpu.vendor == CpuVendor::amd;
  comm.sockets = machine.stack().transport.protocol == NetworkProtocol::tcp;
  for (const int nic : machine.training_nics())
    comm.in_order = comm.in_order && (comm.nodes == 1 ||
                                      machine.spec().nics[static_cast<std::size_t>(nic)].in_order);
  comm.fabric_reduction = comm.nodes > 1 && machine.fabric_reduces() &&
                          machine.stack().transport.protocol == NetworkProtocol::rdma;
  const auto connect = connector(job, ranks, comm.node_of, threads, &ring_of, 1);
  comm.connect_tree = connector(job, ranks, comm.node_of, threads, &tree_of, 2);
  comm.connect_head = connector(job, ranks, comm.node_of, threads, &switch_of, 1);
  comm.connect = connect;
  comm.relay = [&machine, ranks, connect, nodes = comm.node_of](int from, int to, int channel) {
    const GpuPlace a = ranks[static_cast<std::size_t>(from)];
    const GpuPlace b = ranks[static_cast<std::size_t>(to)];
    if (nodes[static_cast<std::size_t>(from)] != nodes[static_cast<std::size_t>(to)])
      return connect(from, to, channel);
    sim::Hop hop = machine.relay_hop(a, b);
    hop.from = from;
    hop.to = to;
    return hop;
  };
  return comm;
}

} // namespace foretrain::platforms
