// A node as the graph search sees it: devices, links with the bandwidths that the library assumes,
// and the paths between GPUs and adapters.
#pragma once

#include "platforms/node_graph.hpp"
#include "platforms/stack.hpp"

#include <array>
#include <string>
#include <vector>

namespace foretrain::platforms {

/// How far a path leads, nearest first (PATH_* of NCCL's topo.h).
enum class PathReach { local, nvlink, nvlink_relay, pix, pxb, pxn, phb, sys, network, none };
const char* short_name(PathReach reach); // "LOC", "NVL", "NVB", ...

/// What differs between versions of the library.
struct SearchRules {
  /// As NCCL_VERSION_CODE has it: 2408 for 2.4.8, 21806 for 2.18.6.
  int version = 21806;
  /// RCCL: over GPUs that are joined each to each it takes rings from a table (mesh_graph.hpp).
  bool tables = false;

  bool own_trees() const { return version >= 2500; } // before they took the rings' order
  bool relays() const { return version >= 2900; }    // over a GPU between (NVB)
  bool proxies() const { return version >= 21200; }  // another GPU beside the adapter sends (PXN)
  /// Knows that without GPUDirect data passes host memory.
  bool diverts() const { return version >= 2600; }
  /// Rings may leave a node by another adapter than they came in by, where the next ring takes the
  /// same two the other way round ("alternating rings", release notes of 2.20). What channels carry
  /// is raised after they are doubled, that of rings and in-switch reduction, too. 2.18.6 does
  /// neither, 2.27.7 both (tests/platforms/data/nccl-graphs.json).
  bool alternates() const { return version >= 22000; }
};

/// Bandwidths here are those of NCCL's topo.h in GB/s: what it assumes, not what passes.
class SearchSystem {
public:
  enum class Kind { gpu, pcie_switch, switch_fabric, cpu, nic, net };
  enum class LinkKind { nvlink, pcie, sys, net };
  struct Link {
    int from, to;
    LinkKind kind;
    double bandwidth; // left
  };
  struct Device {
    Kind kind;
    int number = 0;           // in the platform
    std::vector<int> links;   // going out, the widest first
    double net_bandwidth = 0; // left, of a net
  };
  struct Path {
    std::vector<int> links;
    double bandwidth = 0;
    PathReach reach = PathReach::none;
    bool exists() const { return reach != PathReach::none; }
  };

  SearchSystem(const PlatformSpec& spec, const NodeGraph& node, const Stack& stack,
               const std::vector<int>& gpus, const std::vector<int>& nics,
               const SearchRules& rules);
  /// Finds what a search goes by: paths, limits, who calls an adapter its own. A set of GPUs that
  /// was searched before is known by its fingerprint() and needs none of it.
  void find_paths(const SearchRules& rules);

  int gpus() const { return static_cast<int>(gpus_.size()); }
  int nets() const { return static_cast<int>(nets_.size()); }
  bool has_switch() const { return switch_ >= 0; }
  int gpu(int g) const { return gpus_[static_cast<std::size_t>(g)]; }
  int net(int n) const { return nets_[static_cast<std::size_t>(n)]; }
  int switch_device() const { return switch_; }
  int gpu_number(int g) const { return device(gpu(g)).number; }
  int nic_number(int n) const { return device(net(n)).number; }
  const Device& device(int d) const { return devices_[static_cast<std::size_t>(d)]; }
  const Path& path(int from, int to) const;
  double compute_capability() const { return compute_capability_; }
  /// Of the link between any two GPUs where all are joined by equal ones; 0 where they are not.
  double mesh_bandwidth() const;
  bool intel() const { return intel_; }
  bool amd() const { return amd_; }
  double& net_left(int n) { return devices_[static_cast<std::size_t>(net(n))].net_bandwidth; }

  /// The highest bandwidth that a channel can have, and that all can have together.
  double most_per_channel() const { return most_; }
  double most_in_all() const { return total_; }
  /// The widest PCIe link of a GPU.
  double pcie_bandwidth_of(int g) const;

  /// Takes (or, negative, gives back) bandwidth on the first `steps` links of a path; how many
  /// links it could be taken on.
  std::size_t take(const Path& path, int start, double bandwidth, std::size_t steps);

  /// Adapters by preference: first those that GPUs (all, or one) call their own, then others that
  /// are as near as `reach`.
  const std::vector<int>& nets_of(int gpu, PathReach reach) const;
  /// Whether a path between GPUs, or between a GPU and an adapter, is just so long.
  bool has_reach(PathReach reach, bool to_net) const;
  /// The GPU that calls an adapter its own, or -1.
  int gpu_of_net(int net) const;

  /// What a search goes by, as bytes: systems that say the same yield the same channels, GPU for
  /// GPU. Devices are told in the order in which the GPUs' links lead to them.
  std::string fingerprint() const;

private:
  int add(Kind kind, int number);
  void join(int a, int b, LinkKind kind, double bandwidth);
  void compute_paths(int base, const SearchRules& rules);
  void allow_proxies();
  void divert_through_hosts(const SearchRules& rules);
  void lead_over(int host, int from, int to);
  void compute_limits();
  std::vector<int> own_nets(int gpu) const;
  std::vector<int> find_nets(int gpu, PathReach reach) const;

  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<int> gpus_, nets_;
  int switch_ = -1;
  std::vector<std::vector<Path>> paths_; // [to][from]
  double compute_capability_ = 7;
  bool intel_ = true, amd_ = false;
  double peer_overhead_ = 1.2; // INTEL_P2P_OVERHEAD
  bool diverted_ = false;      // adapters reach GPUs over hosts alone
  std::vector<std::vector<int>> nets_of_;
  double most_ = 0, total_ = 0;
};

} // namespace foretrain::platforms
