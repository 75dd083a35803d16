#include "platforms/rings.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace foretrain::platforms {

namespace {

using Ring = std::vector<int>;

// All Hamiltonian cycles over NVLink from gpus.front(), one direction of each.
void all_cycles(const NodeGraph& graph, const Ring& gpus, Ring& path, std::vector<Ring>& found)
{
  if (path.size() == gpus.size()) {
    const bool closes = graph.bricks(path.back(), path.front()) > 0;
    if (closes &&
        (path.size() < 3 || path[1] < path.back())) // the other direction is the same cycle
      found.push_back(path);
    return;
  }
  for (const int next : gpus) {
    if (graph.bricks(path.back(), next) == 0 ||
        std::find(path.begin(), path.end(), next) != path.end())
      continue;
    path.push_back(next);
    all_cycles(graph, gpus, path, found);
    path.pop_back();
  }
}

// Chooses a largest set of cycles that no brick serves twice, by depth-first search with a bound.
class Packing {
public:
  Packing(const NodeGraph& graph, const Ring& gpus, const std::vector<Ring>& cycles)
      : gpus_(gpus), cycles_(cycles), size_(graph.gpus())
  {
    left_.resize(static_cast<std::size_t>(size_ * size_));
    for (const int a : gpus)
      for (const int b : gpus)
        left(a, b) = a == b ? 0 : graph.bricks(a, b);
  }

  std::vector<Ring> best()
  {
    bound_ = bound();
    search(0);
    std::vector<Ring> rings;
    for (const std::size_t c : best_)
      rings.push_back(cycles_[c]);
    return rings;
  }

private:
  int& left(int a, int b) { return left_[static_cast<std::size_t>(a * size_ + b)]; }

  // A cycle takes two bricks of each GPU; between two GPUs one brick serves both directions.
  std::size_t bound()
  {
    int least = 1 << 20;
    for (const int a : gpus_) {
      int bricks = 0;
      for (const int b : gpus_)
        bricks += left(a, b);
      least = std::min(least, gpus_.size() == 2 ? bricks : bricks / 2);
    }
    return static_cast<std::size_t>(least);
  }

  bool take(const Ring& cycle, int sign)
  {
    const std::size_t edges = cycle.size() == 2 ? 1 : cycle.size();
    for (std::size_t i = 0; i < edges; ++i) {
      const int a = cycle[i];
      const int b = cycle[(i + 1) % cycle.size()];
      left(a, b) -= sign;
      left(b, a) -= sign;
    }
    return std::all_of(left_.begin(), left_.end(), [](int n) { return n >= 0; });
  }

  void search(std::size_t from)
  {
    if (chosen_.size() > best_.size())
      best_ = chosen_;
    if (++steps_ > 200000)
      return;
    for (std::size_t c = from; c < cycles_.size() && best_.size() < bound_; ++c) {
      if (chosen_.size() + bound() <= best_.size())
        return;
      if (take(cycles_[c], 1)) {
        chosen_.push_back(c);
        search(c);
        chosen_.pop_back();
      }
      take(cycles_[c], -1);
    }
  }

  const Ring& gpus_;
  const std::vector<Ring>& cycles_;
  int size_;
  std::vector<int> left_;
  std::vector<std::size_t> chosen_, best_;
  std::size_t bound_ = 0;
  long steps_ = 0;
};

// GPUs in the order in which a walk through the PCIe tree meets them.
Ring tree_order(const NodeGraph& graph, Ring gpus)
{
  std::stable_sort(gpus.begin(), gpus.end(), [&](int a, int b) {
    const auto key = [&](int g) {
      const auto route = graph.route(graph.socket(0), graph.gpu(g));
      std::vector<int> joins;
      for (const Leg& leg : route)
        joins.push_back(leg.join);
      return std::pair(graph.socket_of(graph.gpu(g)), joins);
    };
    return key(a) < key(b);
  });
  return gpus;
}

bool extend(const NodeGraph& graph, const Ring& gpus, int last, Ring& path, long& steps)
{
  if (path.size() == gpus.size())
    return last < 0 || path.back() == last;
  if (++steps > 100000)
    return false;
  Ring nexts;
  for (const int g : gpus)
    if (std::find(path.begin(), path.end(), g) == path.end() && graph.bricks(path.back(), g) > 0 &&
        (g != last || path.size() + 1 == gpus.size()))
      nexts.push_back(g);
  std::stable_sort(nexts.begin(), nexts.end(), [&](int a, int b) {
    return graph.bricks(path.back(), a) > graph.bricks(path.back(), b);
  });
  for (const int next : nexts) {
    path.push_back(next);
    if (extend(graph, gpus, last, path, steps))
      return true;
    path.pop_back();
  }
  return false;
}

} // namespace

std::vector<Ring> nvlink_rings(const NodeGraph& graph, const Ring& gpus)
{
  if (gpus.size() < 2 || gpus.size() > 10)
    return {};
  std::vector<Ring> cycles;
  Ring path{gpus.front()};
  all_cycles(graph, gpus, path, cycles);
  return Packing(graph, gpus, cycles).best();
}

Ring chain(const NodeGraph& graph, const Ring& gpus, int first, int last, bool nvlink)
{
  if (nvlink) {
    Ring path{first};
    long steps = 0;
    if (extend(graph, gpus, gpus.size() > 1 ? last : -1, path, steps))
      return path;
    path = {first};
    steps = 0;
    if (last >= 0 && extend(graph, gpus, -1, path, steps))
      return path;
  }
  Ring order = tree_order(graph, gpus);
  std::rotate(order.begin(), std::find(order.begin(), order.end(), first), order.end());
  return order;
}

namespace {

struct Job {
  const Machine& machine;
  const std::vector<GpuPlace>& ranks;
  std::vector<int> nodes;  // cluster node of the communicator's nodes, in order
  std::vector<Ring> local; // GPUs of each
  std::map<GpuPlace, int> rank_of;
};

sim::Channel intra_channel(const Job& job, const Ring& ring)
{
  sim::Channel channel;
  const int node = job.nodes.front();
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const GpuPlace a{node, ring[i]};
    const GpuPlace b{node, ring[(i + 1) % ring.size()]};
    channel.ring.push_back(job.rank_of.at(a));
    channel.hops.push_back(job.machine.hop(a, b, Mover::collective));
    channel.hops.back().from = job.rank_of.at(a);
    channel.hops.back().to = job.rank_of.at(b);
  }
  return channel;
}

std::vector<sim::Channel> intra_channels(const Job& job)
{
  std::vector<sim::Channel> channels;
  const NodeGraph& graph = job.machine.graph();
  const Ring& gpus = job.local.front();
  const bool nvlink = job.machine.stack().host.nvlink;
  if (nvlink && graph.nvswitch()) {
    channels.push_back(intra_channel(job, gpus));
    return channels;
  }
  const auto rings = nvlink ? nvlink_rings(graph, gpus) : std::vector<Ring>{};
  for (const Ring& ring : rings) {
    channels.push_back(intra_channel(job, ring));
    if (ring.size() == 2)
      continue; // back and forth is the same ring
    Ring reversed(ring.rbegin(), ring.rend());
    channels.push_back(intra_channel(job, reversed));
  }
  if (channels.empty())
    channels.push_back(intra_channel(job, tree_order(graph, gpus)));
  return channels;
}

// GPUs of the node that are nearest to an adapter.
Ring nearest_gpus(const NodeGraph& graph, const Ring& gpus, int nic)
{
  Ring near;
  for (const int gpu : gpus) {
    const auto distance = [&](int g) { return graph.classify(graph.gpu(g), graph.nic(nic)); };
    if (!near.empty() && distance(gpu) > distance(near.front()))
      continue;
    if (!near.empty() && distance(gpu) < distance(near.front()))
      near.clear();
    near.push_back(gpu);
  }
  return near;
}

// Adapters that the ranks use between nodes: those that are the nearest to some of their GPUs. A
// library knows no other GPUs, by way of which it could reach the others.
std::vector<int> adapters_of(const Job& job)
{
  std::set<int> used;
  for (const Ring& gpus : job.local)
    for (const int gpu : gpus)
      used.insert(job.machine.nic_of(gpu));
  return {used.begin(), used.end()};
}

// The order of a node's GPUs on the ring of one adapter: in and out through GPUs that are near it.
// Adapters that are near to the same GPUs take turns among them.
Ring node_chain(const Job& job, const Ring& gpus, int nic)
{
  const NodeGraph& graph = job.machine.graph();
  const Ring near = nearest_gpus(graph, gpus, nic);
  std::size_t turn = 0;
  for (const int other : adapters_of(job)) {
    if (other == nic)
      break;
    turn += nearest_gpus(graph, gpus, other) == near ? 1U : 0U;
  }
  const int first = near[turn % near.size()];
  int last = near.size() > 1 ? near[(turn + 1) % near.size()] : -1;
  if (near.size() == 1 && gpus.size() > 1 && graph.nvswitch()) {
    // Any order is as good; out through the next one that is near.
    Ring others = gpus;
    std::erase(others, first);
    last = nearest_gpus(graph, others, nic).front();
  }
  return chain(graph, gpus, first, last, job.machine.stack().host.nvlink);
}

sim::Channel inter_channel(const Job& job, int nic)
{
  sim::Channel channel;
  std::map<Ring, Ring> chains; // most nodes hold the same GPUs
  std::vector<GpuPlace> order;
  for (std::size_t n = 0; n < job.nodes.size(); ++n) {
    auto known = chains.find(job.local[n]);
    if (known == chains.end())
      known = chains.emplace(job.local[n], node_chain(job, job.local[n], nic)).first;
    for (const int gpu : known->second)
      order.push_back({job.nodes[n], gpu});
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const GpuPlace a = order[i];
    const GpuPlace b = order[(i + 1) % order.size()];
    channel.ring.push_back(job.rank_of.at(a));
    channel.hops.push_back(a.node == b.node ? job.machine.hop(a, b, Mover::collective)
                                            : job.machine.network_hop(a, b, nic, nic));
    channel.hops.back().from = job.rank_of.at(a);
    channel.hops.back().to = job.rank_of.at(b);
  }
  return channel;
}

} // namespace

sim::Communicator make_communicator(const Machine& machine, const std::vector<GpuPlace>& ranks,
                                    const std::string& name, RingOrder order)
{
  sim::Communicator comm;
  comm.name = name;
  comm.ranks = static_cast<int>(ranks.size());
  Job job{machine, ranks, {}, {}, {}};
  std::map<int, std::size_t> position;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto [at, added] = position.emplace(ranks[r].node, job.nodes.size());
    if (added) {
      job.nodes.push_back(ranks[r].node);
      job.local.emplace_back();
    }
    job.local[at->second].push_back(ranks[r].local);
    job.rank_of[ranks[r]] = static_cast<int>(r);
    comm.node_of.push_back(static_cast<int>(at->second));
  }
  for (Ring& gpus : job.local)
    std::sort(gpus.begin(), gpus.end());
  comm.nodes = static_cast<int>(job.nodes.size());
  if (comm.ranks < 2)
    return comm;
  if (comm.nodes == 1 && order == RingOrder::devices)
    comm.channels.push_back(intra_channel(job, job.local.front()));
  else if (comm.nodes == 1)
    comm.channels = intra_channels(job);
  else
    for (const int nic : adapters_of(job))
      comm.channels.push_back(inter_channel(job, nic));
  comm.in_network_reduction = comm.nodes == 1 && machine.stack().host.nvlink &&
                              machine.graph().nvswitch() &&
                              machine.spec().node.nvlink.in_network_reduction;
  comm.in_network_efficiency = machine.spec().gpu.nvlink_in_switch_efficiency;
  comm.compute_capability = machine.spec().gpu.compute_capability;
  comm.amd_hosts = machine.spec().cpu.vendor == "AMD";
  comm.fabric_reduction =
      comm.nodes > 1 && machine.fabric_reduces() && machine.stack().transport.protocol == "rdma";
  const auto nics = comm.nodes > 1 ? adapters_of(job) : std::vector<int>{};
  const auto connect = [&machine, ranks, nics](int from, int to, int channel, bool relayed) {
    const GpuPlace a = ranks[static_cast<std::size_t>(from)];
    const GpuPlace b = ranks[static_cast<std::size_t>(to)];
    const auto nic = [&](GpuPlace gpu) {
      return channel == sim::Communicator::kNearest
                 ? machine.nic_of(gpu.local)
                 : nics[static_cast<std::size_t>(channel) % nics.size()];
    };
    sim::Hop hop = a.node != b.node ? machine.network_hop(a, b, nic(a), nic(b))
                   : relayed        ? machine.relay_hop(a, b)
                                    : machine.hop(a, b, Mover::collective);
    hop.from = from;
    hop.to = to;
    return hop;
  };
  comm.connect = [connect](int from, int to, int channel) {
    return connect(from, to, channel, false);
  };
  comm.relay = [connect](int from, int to, int channel) {
    return connect(from, to, channel, true);
  };
  for (sim::Channel& channel : comm.channels)
    channel.share = 1.0 / static_cast<double>(comm.channels.size());
  return comm;
}

} // namespace foretrain::platforms
