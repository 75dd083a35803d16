#include "models/collectives/tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace foretrain::models {

namespace {

constexpr int kProtocols = 3; // LL, LL128, Simple
using PerProtocol = std::array<double, kProtocols>;

// Microseconds.
struct LatencyTable {
  PerProtocol tree_base, ring_base;
  PerProtocol tree_nvlink, tree_pcie, tree_network;
  PerProtocol ring_nvlink, ring_pcie, ring_network;
};

constexpr LatencyTable kUntil27 = {{4.4, 4.4, 0},   {3.6, 10, 8.4}, {.52, 1.2, 28},
                                   {1.0, 1.0, 28},  {5.0, 8.5, 50}, {.47, 1.9, 3.4},
                                   {1.0, 2.5, 5.7}, {2.7, 4.0, 9.6}};
constexpr LatencyTable kFrom28 = {{6.8, 14, 0},   {6.6, 14, 8.4}, {.6, 1.25, 4},   {1.0, 1.9, 6},
                                  {5.0, 8.5, 14}, {.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14}};
constexpr LatencyTable kFrom227 = {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {.6, 1.25, 4},   {1.0, 1.9, 4},
                                   {5.0, 8.5, 14}, {.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14}};

const LatencyTable& latencies(int version)
{
  return version < 2800 ? kUntil27 : version < 22700 ? kFrom28 : kFrom227;
}

// GB/s, for one, two and more nodes: llMaxBws, perChMaxRingLL128Bws, perChMaxTreeLL128Bws,
// perChMaxTreeBws.
struct ChannelLimits {
  PerProtocol ll, ring_ll128, tree_ll128, tree;
};
constexpr ChannelLimits kVolta = {{39, 39, 20.4}, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}};
constexpr ChannelLimits kAmpere = {{87.7, 22.5, 19}, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}};
constexpr ChannelLimits kHopper = {
    {141, 45, 35}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}};
constexpr ChannelLimits kBlackwell225 = {
    {282, 90, 70}, {73.4, 73.4, 73.4}, {73.4, 73.4, 58}, {77.4, 82.8, 72}};
constexpr ChannelLimits kBlackwell228 = {
    {282, 90, 70}, {40, 40, 40}, {55.6, 31.67, 20}, {70, 42.8, 24}};

const ChannelLimits& limits(int version, double capability)
{
  if (capability >= 10 && version >= 22500)
    return version < 22800 ? kBlackwell225 : kBlackwell228;
  return capability >= 9 ? kHopper : capability >= 8 ? kAmpere : kVolta;
}

// Those of LL: Hopper has its own from 2.19 on; between hosts of other makers than AMD they are
// those of Volta.
const ChannelLimits& ll_limits(int version, const sim::Communicator& comm)
{
  if (comm.nodes > 1 && !comm.amd_hosts)
    return limits(version, 7);
  return limits(version,
                version < 21900 ? std::min(comm.compute_capability, 8.0) : comm.compute_capability);
}

int whole_log2(double x)
{
  return x < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) - 1;
}

double steps_of(Operation operation, int ranks)
{
  return operation == Operation::all_reduce  ? 2.0 * (ranks - 1)
         : operation == Operation::broadcast ? ranks
                                             : ranks - 1.0;
}

double ring_latency(int version, const sim::Communicator& comm, Operation operation, std::size_t p)
{
  const LatencyTable& table = latencies(version);
  const bool ll = p == 0;
  const bool simple = p == 2;
  const double nodes = comm.nodes;
  const double steps = steps_of(operation, comm.ranks);
  const double rounds = operation == Operation::all_reduce ? 2 : 1;
  const bool counts_twice = version >= 2800 && version < 22700 && rounds == 2;
  const double between = comm.nodes == 1 ? 0 : counts_twice ? 2 * nodes : rounds * (nodes - 1);
  double inside =
      (comm.ring_graph.nvlink && comm.ranks > comm.nodes ? table.ring_nvlink : table.ring_pcie)[p];
  if (version < 2800 && ll && comm.nodes > 1)
    inside *= 1.8;
  if (version >= 2800 && comm.nodes > 1) // each step has a call of the network behind it
    inside = std::max(inside, (comm.amd_hosts ? 2.0 : 1.0) * (simple ? 3 : 1));
  const bool exposed = version >= 22700 && comm.ranks == comm.nodes;
  const double network = (exposed ? table.tree_network : table.ring_network)[p];
  return table.ring_base[p] + (steps - between) * inside + between * network;
}

double tree_latency(int version, const sim::Communicator& comm, std::size_t p)
{
  const LatencyTable& table = latencies(version);
  double inside = (comm.tree_graph.nvlink ? table.tree_nvlink : table.tree_pcie)[p];
  if (version < 2800 && p == 0 && comm.nodes > 1)
    inside *= 1.8;
  const int per_node = comm.ranks / comm.nodes;
  return table.tree_base[p] +
         2 * ((per_node - 1) * inside + whole_log2(comm.nodes) * table.tree_network[p]);
}

// Bus bandwidth in GB/s.
double ring_bandwidth(int version, const sim::Communicator& comm, Operation operation,
                      std::size_t p)
{
  const auto scale = static_cast<std::size_t>(std::min(comm.nodes, 3) - 1);
  const ChannelLimits& ll = ll_limits(version, comm);
  const ChannelLimits& own = limits(version, comm.compute_capability);
  const sim::GraphAssumption& graph = comm.ring_graph;
  double bus = graph.channels * (comm.nodes <= 2 ? graph.inside : graph.between) / 1e9;
  if (version < 2800 && comm.compute_capability == 8)
    bus = std::min(bus, 235.0);
  if (p == 0) {
    const bool third = version >= 2800 && comm.nodes == 1 && operation != Operation::all_reduce;
    const double share = version >= 22700 ? 0.5 : third ? 1.0 / 3 : 0.25;
    return version < 2800 ? bus * share : std::min(bus * share, ll.ll[scale]);
  }
  if (p == 1) {
    const double share = comm.ranks == comm.nodes && version < 22700 ? 0.7 : 0.92;
    return std::min(bus * share, graph.channels * (version < 2800 ? 16.7 : own.ring_ll128[scale]));
  }
  return bus;
}

double tree_bandwidth(int version, const sim::Communicator& comm, std::size_t p)
{
  const auto scale = static_cast<std::size_t>(std::min(comm.nodes, 3) - 1);
  const ChannelLimits& ll = ll_limits(version, comm);
  const ChannelLimits& own = limits(version, comm.compute_capability);
  const sim::GraphAssumption& graph = comm.tree_graph;
  double bus = graph.channels * (comm.nodes <= 2 ? graph.inside : graph.between) / 1e9;
  if (version < 2800) {
    const double whole = bus * 0.9;
    bus = p == 1 ? whole * (comm.nodes <= 2 ? 0.6875 : 0.915) : std::min(whole, 110.0);
    return p == 0 ? bus / 3.8 : bus;
  }
  bus = std::min(bus * .92, graph.channels * own.tree[scale]);
  if (p == 0)
    bus = std::min(bus / 3.8, ll.ll[scale]);
  if (p == 1)
    bus = std::min(bus * (comm.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                   graph.channels * own.tree_ll128[scale]);
  return graph.simple_tree && comm.nodes > 1 ? bus * .85 : bus;
}

Expectation switch_expectation(int version, const sim::Communicator& comm)
{
  const sim::GraphAssumption& graph = comm.switch_graph;
  const double base = version >= 22700 ? 25 : 23;
  if (comm.nodes == 1)
    return {base * 1e-6, graph.channels * graph.inside * 5 / 6};
  const double between = comm.nodes <= 2 ? graph.between : graph.between / 2;
  const double latency = base + 2 * whole_log2(comm.nodes) * 14.0;
  return {latency * 1e-6, graph.channels * std::min(graph.inside, between) * 5 / 6};
}

// By powers of two from 64 bytes on.
constexpr int kSizes = 23;
constexpr double kTreeShare[kProtocols][kSizes] = {
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .5,  .6,  .6,  .7,  .7, .8, .9, .9, .92, .92},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

} // namespace

double channel_rate(int version, const sim::Communicator& comm)
{
  return limits(version, comm.compute_capability).tree[0] * 1e9;
}

double tree_limit(int version, const sim::Communicator& comm)
{
  if (version < 2500 || comm.nodes > 1)
    return 0;
  return 0.5 * comm.tree_graph.channels * channel_rate(version, comm);
}

double tree_share(ProtocolKind protocol, double size)
{
  const int step = whole_log2(size / 64);
  return step < kSizes ? kTreeShare[static_cast<std::size_t>(protocol)][step] : 1.0;
}

double ring_plateau(const sim::Communicator& comm, ProtocolKind protocol, double size)
{
  const double each = size / (2.0 * std::max(1, comm.ring_graph.channels) * comm.ranks);
  if (protocol != ProtocolKind::simple || comm.nodes < 2 || each < 64)
    return 1;
  return comm.compute_capability < 8 ? 1.9 : 1.4;
}

std::optional<Expectation> expectation(int version, const sim::Communicator& comm,
                                       Operation operation, Family family, ProtocolKind protocol)
{
  const auto p = static_cast<std::size_t>(protocol);
  const sim::GraphAssumption& graph = family == Family::ring   ? comm.ring_graph
                                      : family == Family::tree ? comm.tree_graph
                                                               : comm.switch_graph;
  if (graph.channels < 1)
    return std::nullopt;
  if (family == Family::in_switch) {
    if (protocol != ProtocolKind::simple || version < 21700)
      return std::nullopt;
    return switch_expectation(version, comm);
  }
  if (protocol == ProtocolKind::ll128 && (!graph.nvlink || !graph.near_adapter))
    return std::nullopt;
  const double n = comm.ranks;
  if (family == Family::ring)
    return Expectation{ring_latency(version, comm, operation, p) * 1e-6,
                       ring_bandwidth(version, comm, operation, p) * 1e9 * n /
                           steps_of(operation, comm.ranks)};
  return Expectation{tree_latency(version, comm, p) * 1e-6,
                     0.5 * tree_bandwidth(version, comm, p) * 1e9};
}

} // namespace foretrain::models
