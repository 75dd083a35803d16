// What collectives see of a machine: ranks, and what a payload byte costs from one to the next.
// Platforms fill it in from the topology; models run algorithms over it.
#pragma once

#include "sim/base/choice.hpp"
#include "sim/engine/path.hpp"

#include <functional>
#include <string>
#include <vector>

namespace foretrain::sim {

/// How far apart two ranks are; protocols have latencies per kind.
enum class Reach { nvlink, pcie, network };

/// How a library makes rings inside one node: by search, or one ring in the order of the devices
/// whatever joins them (NCCL 1.x, src/core.cu). Between nodes they are always searched for.
enum class RingOrder { search, devices };
constexpr auto choices(RingOrder)
{
  return std::to_array<Choice<RingOrder>>(
      {{RingOrder::search, "search"}, {RingOrder::devices, "devices"}});
}

/// One hop of a channel: rank `from` sends to rank `to`.
struct Hop {
  int from = 0;
  int to = 0;
  Reach reach = Reach::pcie;
  std::vector<Use> uses;       // per payload byte
  Seconds latency;             // beyond the protocol's own, e.g. of switches and staging
  double cap = MaxMin::kNoCap; // bytes per second
  Seconds rendezvous;          // more latency of messages beyond `eager`: announced, then fetched
  Bytes eager{};
  Seconds
      handling; // of each message, by adapter and plug-in: one after the other, beside the bytes
};

/// One ring through all ranks: hops[i] leads from ring[i] to ring[i + 1], the last one back.
struct Channel {
  std::vector<int> ring;
  std::vector<Hop> hops;
  double share = 1; // of the payload that this channel carries; shares add up to 1
};

/// A channel of a tree: a chain of ranks in every node, the first at the adapter.
struct TreeChannel {
  std::vector<std::vector<int>> chains;
  int second = 0; // position in a chain of the rank on which a node's second child hangs
  double share = 1;
};

/// What a library assumes of the graph it found for an algorithm, by which it chooses; what passes
/// in truth is decided by hops. No channels: it found none.
struct GraphAssumption {
  int channels = 0;
  double inside = 0; // bytes per second of one channel inside a node
  double between = 0;
  bool nvlink = false;       // inside nodes over NVLink all the way, or over a GPU between
  bool near_adapter = false; // between GPU and adapter only PCIe switches, or a GPU beside it
  bool simple_tree = false;  // a node's traffic goes in and out through one GPU
};

struct Communicator {
  std::string name;
  int ranks = 1;
  int nodes = 1;
  std::vector<int> node_of;           // rank -> node, counted from 0 within this communicator
  bool in_network_reduction = false;  // one node, and its switch adds while it forwards
  double in_network_efficiency = 1;   // payload share that is left when it does
  bool fabric_reduction = false;      // several nodes, and the switches between them add
  double compute_capability = 7;      // of its GPUs (CUDA)
  bool amd_hosts = false;             // their CPUs are AMD's
  bool sockets = false;               // between nodes through the kernel's sockets
  bool in_order = true;               // between nodes data arrives in the order it was sent
  static constexpr int kNearest = -1; // instead of a channel: the adapters nearest to both ranks

  /// A hop between any two ranks, for channel c (which decides the adapter between nodes).
  std::function<Hop(int from, int to, int channel)> connect;
  /// The same, by way of a third GPU's memory where that avoids PCIe.
  std::function<Hop(int from, int to, int channel)> relay;
  std::vector<Channel> channels;

  /// Trees that were searched for apart from rings; none: a tree takes the rings' order.
  std::vector<TreeChannel> trees;
  /// Between nodes for in-switch reduction inside them: chains hold one rank of each node.
  std::vector<TreeChannel> heads;
  /// As connect, for a channel of trees or heads.
  std::function<Hop(int from, int to, int channel)> connect_tree, connect_head;
  /// Of resources of nodes that nobody else uses: which one of its node it is; -1 of all others.
  /// One of those with the same number, capacity and load stands for all. None: there are no such.
  std::function<int(int resource)> alike;
  GraphAssumption ring_graph, tree_graph, switch_graph;
};

} // namespace foretrain::sim
