// A platform brought to life: the resources of N nodes in an engine, and paths over them.
#pragma once

#include "platforms/node_graph.hpp"
#include "platforms/stack.hpp"
#include "sim/engine/communicator.hpp"
#include "sim/engine/engine.hpp"

#include <map>
#include <string>
#include <vector>

namespace foretrain::platforms {

struct GpuPlace {
  int node = 0;
  int local = 0;
  auto operator<=>(const GpuPlace&) const = default;
};

/// Who moves bytes between GPUs: copy engines (cudaMemcpy) or kernels of a collective library.
enum class Mover { copy_engine, collective };

class Machine {
public:
  /// Creates the resources. Throws ConfigError at spec.origin when nodes do not fit the platform.
  Machine(sim::Engine& engine, const PlatformSpec& spec, const Stack& stack, int nodes);

  const PlatformSpec& spec() const { return spec_; }
  const Stack& stack() const { return stack_; }
  const NodeGraph& graph() const { return graph_; }
  int nodes() const { return nodes_; }

  /// One second of this resource is one second of the GPU's arithmetic.
  sim::ResourceId compute(GpuPlace gpu) const { return at(gpu.node, compute_ + gpu.local); }
  sim::ResourceId cores(int node) const { return at(node, cores_); }
  /// What a second of its kernels takes: the GPU, and cores of the host when it is made of these.
  sim::PathPtr compute_path(GpuPlace gpu) const;
  /// Of kernels, where they share something.
  double compute_priority() const;
  /// Priority of a thread's work, in core-seconds, beside connections, in bytes: with core-seconds
  /// per byte of a typical connection as priority both get equal core time.
  static constexpr double kCorePriority = 3e-10;

  /// Whether bytes between two GPUs of a node pass through host memory.
  bool staged(int gpu_a, int gpu_b) const;
  /// What a payload byte costs from a to b.
  sim::Hop hop(GpuPlace a, GpuPlace b, Mover mover) const;
  /// The same between nodes, through adapters of one's choice (indices into spec().node.nics).
  sim::Hop network_hop(GpuPlace a, GpuPlace b, int nic_a, int nic_b) const;
  /// Pinned copies between host memory of the GPU's socket and the GPU.
  sim::PathPtr host_to_device(GpuPlace gpu) const;
  sim::PathPtr device_to_host(GpuPlace gpu) const;
  /// A copy inside the device: amount is bytes copied (read and written).
  sim::PathPtr device_copy(GpuPlace gpu) const;
  /// Peer copies as cudaMemcpyPeer does them; peer access can be refused.
  sim::PathPtr peer_copy(int node, int gpu_a, int gpu_b, bool peer_access) const;

  /// Adapters' resources that a token bucket shapes, each with the bytes of its burst.
  std::vector<std::pair<sim::ResourceId, Bytes>> shaped() const;

  /// Whether the nodes are joined by a network that the transport runs on.
  bool networked() const { return network_ >= 0; }
  const Framing& framing() const { return framing_; }
  /// The adapters of the training network, as indices into spec().node.nics.
  const std::vector<int>& training_nics() const { return training_nics_; }
  /// The training adapter that is nearest to a GPU; among equals they take turns.
  int nic_of(int gpu) const { return nic_of_.at(static_cast<std::size_t>(gpu)); }

private:
  sim::ResourceId at(int node, int index) const { return {first_ + node * stride_ + index}; }
  void build_node(sim::Engine& engine, int node);
  void build_fabric(sim::Engine& engine);
  const Fabric& fabric() const { return spec_.fabrics[static_cast<std::size_t>(network_)]; }
  void choose_network();
  void choose_nics();
  void add_route(std::vector<sim::Use>& uses, int node, int from, int to, bool peer) const;
  void add_dram(std::vector<sim::Use>& uses, int node, int gpu) const;
  sim::Hop hop_in_memory(GpuPlace a, GpuPlace b) const;
  void add_fabric(std::vector<sim::Use>& uses, int from_node, int to_node, double weight) const;

  PlatformSpec spec_;
  Stack stack_;
  NodeGraph graph_;
  int nodes_;
  int first_ = 0;  // first resource of node 0
  int stride_ = 0; // resources per node
  int compute_ = 0, memory_ = 0, pcie_ = 0, root_ = 0, nvlink_ = 0, nic_ = 0, dram_ = 0, cores_ = 0;
  int leaf_ = -1; // first leaf resource, up and down by turns; -1 with a single switch
  int leaf_ports_ = 0;
  std::vector<int> root_of_join_; // root port of a join that ends in a socket, or -1
  int network_ = -1;              // index into spec_.networks, of the training network
  Framing framing_;               // of it
  Framing local_framing_;         // between workers on cores of one node
  std::vector<int> training_nics_;
  std::vector<int> nic_of_;
};

} // namespace foretrain::platforms
