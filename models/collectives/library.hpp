// A collective library: its protocols with their latencies and what they make of bandwidth.
#pragma once

#include "models/collectives/host_exchange.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"
#include "sim/cost/gpu_vendor.hpp"
#include "sim/engine/communicator.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

inline const PresetKind kLibraryKind{"library", "models/data/libraries", true};

/// Time for one step of an algorithm over one hop, by how far the hop reaches.
struct HopLatency {
  Seconds nvlink;
  Seconds pcie;
  Seconds network;
};

/// What a protocol can bring through one GPU at most: measured by the library's authors on one kind
/// of machine.
struct BusLimit {
  double compute_capability = 0; // of the oldest GPUs that it holds for
  BytesPerSecond one_node;       // bus bandwidth: what each rank sends
  BytesPerSecond two_nodes;
  BytesPerSecond more_nodes;
};

/// What a protocol's calls and steps over NVLink take on one generation of GPUs.
struct GpuLatency {
  double compute_capability = 0; // of the oldest GPUs that it holds for
  Seconds base;                  // of a call
  Seconds nvlink_hop;
  Seconds peers;      // more of a call with each doubling of the ranks that all send to each other
  Seconds tree_hop{}; // one step of a tree, which then keeps its base; 0: as nvlink_hop
  Seconds send{};     // a call of sends between two ranks, as in an all-to-all; 0: base and a step
  Seconds filled{}; // LL: more where blocks have all their threads, for one rank and each doubling
  Seconds round{};  // of a block's threads that go round again in a step; of the switch that adds
  BytesPerSecond ring_limit{}; // bus bandwidth at which blocks move a ring's data; 0: as the links
};

/// The protocols that a library's own model of itself knows, by their names.
enum class ProtocolKind { ll, ll128, simple };

struct Protocol {
  std::string name;
  ProtocolKind kind() const // any other name is treated as Simple
  {
    return name == "LL"      ? ProtocolKind::ll
           : name == "LL128" ? ProtocolKind::ll128
                             : ProtocolKind::simple;
  }
  double payload = 1;         // share of the moved bytes that is data: LL 8 of 16, LL128 120 of 128
  double network_payload = 1; // the same between nodes
  Seconds ring_base;          // fixed cost of a call
  Seconds tree_base;
  Seconds in_switch_base; // zero: the switch cannot add in this protocol
  HopLatency ring_hop;
  HopLatency tree_hop;
  Seconds peers;               // see GpuLatency
  Seconds send_base{};         // of a call of sends between two ranks; set by on()
  HopLatency send_hop{};       // one of them; set by on()
  Seconds filled{};            // see GpuLatency; set by on()
  Seconds round{};             // likewise
  BytesPerSecond ring_limit{}; // likewise
  double inside_factor = 1;    // by which steps inside nodes take longer when there are several
  bool nvlink_only = false;    // needs NVLink inside nodes
  /// By rising compute capability; between nodes of other makers than AMD the first one holds.
  std::vector<BusLimit> bus_limits; // none: no limit
  /// By rising compute capability, in place of the values above; older GPUs keep those.
  std::vector<GpuLatency> gpu_latencies;

  /// Of gpu_latencies those that hold for GPUs of an architecture; null: none.
  const GpuLatency* latency_on(double compute_capability) const
  {
    const GpuLatency* own = nullptr;
    for (const GpuLatency& latency : gpu_latencies)
      if (latency.compute_capability <= compute_capability)
        own = &latency;
    return own;
  }

  /// The protocol as it is on GPUs of an architecture, each step between nodes so much longer.
  Protocol on(double compute_capability, Seconds network_step) const
  {
    Protocol it = *this;
    it.ring_hop.network += network_step;
    it.tree_hop.network += network_step;
    it.send_base = it.ring_base;
    it.send_hop = it.ring_hop;
    const GpuLatency* const own = latency_on(compute_capability);
    if (own == nullptr)
      return it;
    const GpuLatency& latency = *own;
    const bool trees_apart = latency.tree_hop.value() > 0;
    it.ring_base = latency.base;
    it.ring_hop.nvlink = latency.nvlink_hop;
    it.tree_base = trees_apart ? tree_base : latency.base;
    it.tree_hop.nvlink = trees_apart ? latency.tree_hop : latency.nvlink_hop;
    it.peers = latency.peers;
    const bool sends_apart = latency.send.value() > 0;
    it.send_base = sends_apart ? latency.send : latency.base;
    it.send_hop.nvlink = sends_apart ? Seconds{} : latency.nvlink_hop;
    it.filled = latency.filled;
    it.round = latency.round;
    it.ring_limit = latency.ring_limit;
    return it;
  }
};

/// At which the blocks of a collective move what stays on their GPU, on one generation of GPUs.
struct LocalCopy {
  double compute_capability = 0; // of the oldest GPUs that it holds for
  BytesPerSecond rate;
  BytesPerSecond to_itself{}; // where all ranks send to each other; 0: the same
};

/// The rule by which a library chooses among algorithms, see choice.hpp.
enum class Estimate { idle, nccl_2_4, nccl_2_5 };
constexpr auto choices(Estimate)
{
  return std::to_array<Choice<Estimate>>({{Estimate::idle, "idle"},
                                          {Estimate::nccl_2_4, "nccl-2.4"},
                                          {Estimate::nccl_2_5, "nccl-2.5"}});
}

struct Library {
  std::string name;
  std::vector<Protocol> protocols;
  std::vector<std::string> automatic; // algorithms it chooses from by itself; empty: all
  int version = 21806;                // as NCCL_VERSION_CODE: 2408 for 2.4.8, 21806 for 2.18.6
  int blocks_per_channel = 1;         // multiprocessors that a channel keeps busy
  bool relays = false;   // sends between two GPUs by way of a third one where that avoids PCIe
  Seconds socket_step{}; // added to a step between nodes when it goes through sockets
  Seconds host_launch{}; // host time to launch a call on one GPU, for threads with several
  // Factors on the time of every call: inside a node over NVLink alone, inside a node otherwise,
  // and between nodes. 1, and as uncertain as measured calls are away from predicted ones
  // (calibration/data/spreads.json). Below 1 protocols and GPUs are faster, links are not.
  double call_time = 1;
  double call_time_pcie = 1;
  double call_time_between_nodes = 1;
  std::vector<LocalCopy> local_copies{}; // by rising compute capability; older GPUs: at no cost

  /// On GPUs of an architecture, of rings or of ranks that send to each other; 0: no cost is known.
  BytesPerSecond local_copy(double compute_capability, bool to_itself) const
  {
    BytesPerSecond rate{};
    for (const LocalCopy& it : local_copies)
      if (it.compute_capability <= compute_capability)
        rate = to_itself && it.to_itself.value() > 0 ? it.to_itself : it.rate;
    return rate;
  }

  Estimate estimate = Estimate::idle; // rule by which it chooses, see choice.hpp
  sim::RingOrder rings = sim::RingOrder::search;

  std::optional<HostExchange>
      host{}; // it adds through host memory, and by the above inside processes

  bool trees_between_nodes_only = false; // inside one node it does not choose a tree by itself

  bool between_nodes = true; // it has a network

  std::optional<sim::GpuVendor> vendor{}; // of the GPUs that it runs on; none: anybody's

  bool chooses(const std::string& algorithm, int nodes) const
  {
    if (algorithm == "tree" && trees_between_nodes_only && nodes < 2)
      return false;
    return automatic.empty() ||
           std::find(automatic.begin(), automatic.end(), algorithm) != automatic.end();
  }
};

Library load_library(const Value& reference);
/// The same for calls among GPUs themselves. Throws ConfigError for a library that adds through
/// host memory.
Library load_device_library(const Value& reference);

template <class V>
void describe(V& v, HopLatency& s)
{
  v.required("nvlink", s.nvlink, "to a GPU over NVLink", non_negative());
  v.required("pcie", s.pcie, "to a GPU over PCIe", non_negative());
  v.required("network", s.network, "to another node, beyond the transport's latency",
             non_negative());
}

template <class V>
void describe(V& v, GpuLatency& s)
{
  v.required("compute_capability", s.compute_capability, "of the oldest GPUs it holds for",
             non_negative());
  v.required("base", s.base, "fixed cost of a call", non_negative());
  v.required("nvlink_hop", s.nvlink_hop, "one step to a GPU over NVLink", non_negative());
  v.optional(
      "peers", s.peers,
      "more of a call with each doubling of the ranks that all send to each other: a send and "
      "a receive each, on channels of their own",
      non_negative());
  v.optional("tree_hop", s.tree_hop,
             "one step of a tree, which then keeps the protocol's tree_base; 0: as nvlink_hop",
             non_negative());
  v.optional("send", s.send,
             "a call of sends between two ranks, as in an all-to-all; 0: base and one step",
             non_negative());
  v.optional("filled", s.filled,
             "LL: more of a call whose blocks have all their threads, and as much again with each "
             "doubling of the ranks",
             non_negative());
  v.optional("round", s.round,
             "LL: of the threads of a block that go round again in one step; Simple: more of each "
             "round of the pipeline of a switch that adds",
             non_negative());
  v.optional("ring_limit", s.ring_limit,
             "bus bandwidth at which a ring's blocks move data at most; 0: links alone limit them",
             non_negative());
}

template <class V>
void describe(V& v, LocalCopy& s)
{
  v.required("compute_capability", s.compute_capability, "of the oldest GPUs it holds for",
             non_negative());
  v.required("rate", s.rate, "bytes that stay on the GPU", positive());
  v.optional("to_itself", s.to_itself,
             "what a rank of an all-to-all sends to itself; 0: at the same rate", non_negative());
}

template <class V>
void describe(V& v, BusLimit& s)
{
  v.required("compute_capability", s.compute_capability, "of the oldest GPUs it holds for",
             non_negative());
  v.required("one_node", s.one_node, "inside one node", positive());
  v.required("two_nodes", s.two_nodes, "between two nodes", positive());
  v.required("more_nodes", s.more_nodes, "between more", positive());
}

template <class V>
void describe(V& v, Protocol& s)
{
  v.required("name", s.name, "name of the protocol");
  v.optional("payload", s.payload, "share of moved bytes that is data", between(0.01, 1));
  v.optional("network_payload", s.network_payload, "the same between nodes", between(0.01, 1));
  v.required("ring_base", s.ring_base, "fixed cost of a ring call", non_negative());
  v.required("tree_base", s.tree_base, "fixed cost of a tree call", non_negative());
  v.optional("in_switch_base", s.in_switch_base,
             "fixed cost of a call that the switch adds up; zero: not in this protocol",
             non_negative());
  v.required("ring_hop", s.ring_hop, "one step of a ring");
  v.required("tree_hop", s.tree_hop, "one step of a tree");
  v.optional("inside_factor", s.inside_factor,
             "by which steps inside nodes take longer when there are several nodes", at_least(1));
  v.optional("nvlink_only", s.nvlink_only, "needs NVLink inside nodes");
  v.optional("bus_limits", s.bus_limits,
             "bus bandwidth of one GPU at most, by rising compute capability; between nodes that "
             "are not AMD's the first holds");
  v.optional("gpu_latencies", s.gpu_latencies,
             "calls and NVLink steps on newer GPUs, by rising compute capability");
}

template <class V>
void describe(V& v, Library& s)
{
  v.format("foretrain.library/1");
  v.required("name", s.name, "name and version");
  v.optional("vendor", s.vendor, "who makes the GPUs that it runs on; none: anybody");
  v.required("protocols", s.protocols, "from the lowest latency to the highest bandwidth");
  v.optional("automatic", s.automatic, "algorithms it chooses from by itself; default all");
  v.optional("estimate", s.estimate, "how it expects an algorithm to do when it chooses");
  v.optional("version", s.version,
             "of NCCL, whose search for graphs and whose choices it follows, as NCCL_VERSION_CODE: "
             "2408 for 2.4.8, 21806 for 2.18.6",
             between(1000, 99999));
  v.optional("rings", s.rings,
             "inside a node: searched for in the topology, or one in the order of the devices");
  v.optional("trees_between_nodes_only", s.trees_between_nodes_only,
             "inside one node it does not choose a tree by itself");
  v.optional("between_nodes", s.between_nodes, "it exchanges between nodes, too");
  v.optional("relays", s.relays,
             "sends between two GPUs by way of a third one where that avoids PCIe");
  v.optional("socket_step", s.socket_step,
             "added to a step between nodes through sockets: what the proxy and its helper threads "
             "take to hand a message over",
             non_negative());
  v.optional("local_copies", s.local_copies,
             "at which a collective's blocks move the part of a buffer that stays on the GPU, by "
             "rising compute capability");
  v.optional("host_launch", s.host_launch, "host time to launch a call on one GPU", non_negative());
  v.optional("call_time", s.call_time,
             "factor on the time of every call inside a node over NVLink: 1, and as uncertain as "
             "measured calls are away from predicted ones",
             positive());
  v.optional("call_time_pcie", s.call_time_pcie,
             "the same of calls inside a node that pass PCIe or host memory", positive());
  v.optional("call_time_between_nodes", s.call_time_between_nodes,
             "the same of calls between several nodes", positive());
  v.optional("host", s.host,
             "it adds gradients through host memory and on cores; what stands above then holds "
             "inside its processes");
  v.optional("blocks_per_channel", s.blocks_per_channel,
             "multiprocessors that a channel keeps busy", non_negative());
}

} // namespace foretrain::models
