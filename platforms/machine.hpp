// A platform brought to life: the resources of N nodes in an engine, and paths over them. A node's
// are made when the first of them is asked for.
#pragma once

#include "platforms/node_graph.hpp"
#include "platforms/node_view.hpp"
#include "platforms/stack.hpp"
#include "sim/engine/communicator.hpp"
#include "sim/engine/engine.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace foretrain::platforms {

struct GpuPlace {
  int node = 0;
  int local = 0;
  auto operator<=>(const GpuPlace&) const = default;
};

/// A network of a platform that a transport can run on.
struct Network {
  int index = -1; // into spec.networks; -1: there is none
  Framing framing;
  std::vector<int> nics; // indices into spec.node.nics
};

/// The first network of the platform that the transport can run on, of those from `first` on.
Network find_network(const PlatformSpec& spec, const Transport& transport, std::size_t first = 0);

/// Nodes below one leaf switch of a network, an index into spec.networks; 0 if one switch will do
/// for so many.
int nodes_per_leaf(const PlatformSpec& spec, std::size_t network, int nodes);

/// Who moves bytes between GPUs: copy engines (cudaMemcpy) or kernels of a collective library.
enum class Mover { copy_engine, collective };

class Machine {
public:
  /// The engine must outlive it. Links of PCIe are `pcie_scale` times as fast as the platform
  /// says. Throws ConfigError at spec.origin when nodes do not fit the platform.
  Machine(sim::Engine& engine, const PlatformSpec& spec, const Stack& stack, int nodes,
          double pcie_scale = 1);

  /// The same resources as a tenant with a stack of its own sees them. `core_sets`: a resource per
  /// node that stands for the cores it is confined to (cgroup, virtual machine), or empty.
  Machine tenant(const Stack& stack, std::vector<sim::ResourceId> core_sets) const;

  const PlatformSpec& spec() const { return spec_; }
  const Stack& stack() const { return stack_; }
  const NodeGraph& graph() const { return graph_; }
  int nodes() const { return nodes_; }
  double pcie_scale() const { return pcie_scale_; }

  /// One second of this resource is one second of the GPU's arithmetic.
  sim::ResourceId compute(GpuPlace gpu) const { return at(gpu.node, compute_ + gpu.local); }
  sim::ResourceId cores(int node) const { return at(node, cores_); }
  /// Memory bandwidth of a socket.
  sim::ResourceId dram(int node, int socket) const { return at(node, dram_ + socket); }

  /// Whether bytes between two GPUs of a node pass through host memory.
  bool staged(int gpu_a, int gpu_b) const;
  /// What a payload byte costs from a to b.
  sim::Hop hop(GpuPlace a, GpuPlace b, Mover mover) const;
  /// One end of a hop between nodes.
  struct NetworkEnd {
    GpuPlace gpu;
    int nic = 0;    // index into spec().nics
    int owner = -1; // GPU by way of which others reach the adapter (AdapterOwners); -1: none
  };
  /// The same between nodes, through adapters of one's choice.
  sim::Hop network_hop(const NetworkEnd& from, const NetworkEnd& to) const;
  /// The same inside a node, by way of a third GPU when both have NVLinks to it but not to each
  /// other: through the one with the most bricks to both.
  sim::Hop relay_hop(GpuPlace a, GpuPlace b) const;
  /// What a byte costs from host memory of one node to that of another through their adapters
  /// `nic`; on one node a copy by the CPU.
  sim::Hop host_hop(int from, int to, int nic) const;
  /// Copies from host memory of the GPU's socket to the GPU. From pageable memory the driver first
  /// copies with one core into a pinned buffer.
  sim::PathPtr host_to_device(GpuPlace gpu, bool pinned = true) const;
  sim::PathPtr device_to_host(GpuPlace gpu) const;
  /// A copy inside the device: amount is bytes copied (read and written).
  sim::PathPtr device_copy(GpuPlace gpu) const;
  /// Peer copies as cudaMemcpyPeer does them; peer access can be refused.
  sim::PathPtr peer_copy(int node, int gpu_a, int gpu_b, bool peer_access) const;

  /// What a second of a GPU's kernels takes: the GPU, and the cores that its process keeps busy, or
  /// those that it is made of.
  sim::PathPtr compute_path(GpuPlace gpu, double host_threads) const;
  /// What the tenant's own threads hold for work of so many core-seconds per unit.
  sim::Held thread_work(int node, double core_seconds, double threads) const;
  /// Adds work of the kernel for the tenant, in core-seconds per unit: on cores of the node, and
  /// those of the virtual machine when the tenant lives in one.
  void add_core_work(std::vector<sim::Use>& uses, int node, double core_seconds) const;
  /// Adds the core time of a byte of a TCP connection that ends on the node: by default one of the
  /// tenant's own network, else of this stack's, as connections to file servers are.
  void add_network_work(std::vector<sim::Use>& uses, int node) const
  {
    add_network_work(uses, node, stack_, network_.framing);
  }
  void add_network_work(std::vector<sim::Use>& uses, int node, const Stack& stack,
                        const Framing& framing) const;
  /// Adds what a byte takes on its way from an adapter into host memory.
  void add_received(std::vector<sim::Use>& uses, int node, int nic, double wire,
                    double dram_passes) const;
  /// Or from there to an adapter and out of it.
  void add_sent(std::vector<sim::Use>& uses, int node, int nic, double wire,
                double dram_passes) const;
  /// Of a resource of one of these nodes: which one of its node it is; -1 of all others.
  std::function<int(int resource)> numbers_on(const std::vector<int>& nodes) const;
  /// What a picture of the node needs.
  NodeView view(int node) const;
  /// Adapters' resources that a token bucket shapes, each with the bytes of its burst.
  std::vector<std::pair<sim::ResourceId, Bytes>> shaped() const;

  /// Whether the nodes are joined by a network that the transport runs on.
  bool networked() const { return network_.index >= 0; }
  const Framing& framing() const { return network_.framing; }
  /// Whether nodes share links of the network: uplinks of switches.
  bool shares_uplinks() const { return networked() && leaves().first >= 0; }
  /// A leaf switch: of which of the platform's networks, and the first node below it.
  struct Leaf {
    std::size_t network = 0;
    int first_node = 0;
  };
  /// The leaf switch whose uplink a resource is; nothing of all other resources.
  std::optional<Leaf> leaf_above(sim::ResourceId uplink) const;
  /// Whether switches between the nodes add what passes through them.
  bool fabric_reduces() const { return networked() && fabric().reduces; }
  /// Bytes per second of so many TCP connections between nodes that so many threads serve, each the
  /// work of one core: what cores do, and what the network lets through of each connection.
  double socket_cap(double threads, double connections) const;
  /// The adapters of the training network, as indices into spec().node.nics.
  const std::vector<int>& training_nics() const { return network_.nics; }
  /// The training adapters that a GPU sends through: those that carry most for it, of them the
  /// nearest; GPUs take turns at them, and where there are more of them than GPUs the channels of
  /// each are spread over several (ncclTopoGetLocalNet). Empty without a network.
  const std::vector<int>& nics_of(int gpu) const
  {
    return nics_of_.at(static_cast<std::size_t>(gpu));
  }
  /// What is sent between GPUs of two nodes over all adapters of both, as much over each; a hop
  /// over one of them each, by number.
  using HopOver = std::function<sim::Hop(int from, int to)>;
  sim::Hop over_adapters(GpuPlace a, GpuPlace b, const HopOver& hop_over) const;
  /// The first of them; -1 without a network.
  int nic_of(int gpu) const { return nics_of(gpu).empty() ? -1 : nics_of(gpu).front(); }

private:
  // Core-seconds of a thread beside bytes of a connection: on cores that they share a thread gets
  // as much time as a connection that costs this per byte.
  static constexpr double kThreadPriority = 3e-10;

  struct NodeResources; // of all nodes
  sim::ResourceId at(int node, int index) const;
  void list_node();
  void build_fabric(sim::Engine& engine);
  const Fabric& fabric() const { return spec_.fabrics[static_cast<std::size_t>(network_.index)]; }
  void choose_network();
  void choose_nics();
  std::vector<int> local_nics(int gpu) const;
  BytesPerSecond rate_to(int gpu, int nic) const;
  void add_nvlinks(int node, NodeView& view) const;
  void add_route(std::vector<sim::Use>& uses, int node, int from, int to) const;
  void add_dram(std::vector<sim::Use>& uses, int node, int gpu) const;
  Seconds network_latency(int from_node, int to_node, int nic) const;
  /// The GPU through which one reaches an adapter: itself, or the adapter's owner.
  int proxy_of(const NetworkEnd& end) const;
  sim::Hop hop_in_memory(GpuPlace a, GpuPlace b, const Stack& stack, const Framing& framing) const;
  sim::Hop hop_between_pods(GpuPlace a, GpuPlace b) const;
  /// The thread that does this work for all connections of the node, or of the tenant's guest.
  int layer_thread(int node, const Stack& stack, const ThreadWork& work) const;
  /// Adds what a byte takes of the one flow between two nodes (Transport::one_flow).
  void add_flow(std::vector<sim::Use>& uses, int from, int to, double wire) const;
  void add_fabric(std::vector<sim::Use>& uses, int from_node, int to_node, double weight) const;

  PlatformSpec spec_;
  Stack stack_;
  NodeGraph graph_;
  int nodes_;
  double pcie_scale_;
  std::shared_ptr<NodeResources> node_resources_; // tenants have the same
  // Where each kind begins in the list of a node's resources.
  int compute_ = 0, memory_ = 0, pcie_ = 0, root_ = 0, nvlink_ = 0, nic_ = 0, dram_ = 0, cores_ = 0;
  struct Leaves {
    int first = -1; // resource, up and down by turns; -1 with a single switch
    int nodes = 1;  // per leaf
    int count = 0;
  };
  const Leaves& leaves() const { return leaves_[static_cast<std::size_t>(network_.index)]; }
  std::vector<Leaves> leaves_;    // parallel to spec_.networks
  std::vector<int> root_of_join_; // root port of a join that ends in a socket, or -1
  Network network_;               // that jobs train over
  Framing local_framing_;         // between workers on cores of one node
  std::vector<std::vector<int>> nics_of_;
  std::vector<sim::ResourceId> core_sets_; // of the tenant, per node; empty: all cores
  int guest_ = 0;                          // the tenant's, where it has one
};

} // namespace foretrain::platforms
