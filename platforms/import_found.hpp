// What a file from a real machine tells about the inside of that machine, before anything is
// assumed.
#pragma once

#include "platforms/node_graph.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace foretrain::platforms {

/// Bounds on what is read, far above any real node.
inline constexpr std::size_t kImportBytes = std::size_t{4} << 20;
inline constexpr int kMostGpus = 16; // of a platform's node
inline constexpr int kMostNics = 64;
inline constexpr int kMostSwitches = 64;
inline constexpr int kMostSockets = 8; // of a platform's node

struct FoundSocket {
  int numa = -1;      // -1: the file does not say
  std::string vendor; // as CPUID spells it
  int family = 0;
  int model = 0;
  int logical_cpus = 0; // 0: the file does not say
};

/// A PCIe link; empty where the file does not say.
struct FoundLink {
  std::optional<int> generation;
  std::optional<int> lanes;
};

struct FoundSwitch {
  std::string name;
  std::string on;
  FoundLink uplink;
};

struct FoundGpu {
  std::string on;
  FoundLink link;
  int compute_capability = 0; // 70 is 7.0; 0: the file does not say
  int device = 0;             // PCI device id of NVIDIA, 0: the file does not say
};

struct FoundNic {
  std::string name;
  std::string on;
  FoundLink link;
  double megabits = 0;        // per second; 0: the file does not say
  std::optional<bool> fabric; // InfiniBand (true) or Ethernet; empty: the file does not say
  int vendor = 0;             // PCI ids, 0: the file does not say
  int device = 0;
  int order = -1; // number the file gives it, -1: none
};

struct FoundNode {
  std::string kind; // "NCCL topology XML"
  std::string file;
  std::vector<FoundSocket> sockets;
  std::vector<FoundSwitch> switches; // each after what it hangs on
  std::vector<FoundGpu> gpus;
  std::vector<FoundNic> nics;
  std::vector<std::vector<int>> bricks; // between GPUs, as the file states them
  std::optional<bool> nvswitch;         // empty: the file does not say
  bool nvlink_told = true;              // false: a file by hand that describes no GPU
  int switch_bricks = 0;                // of each GPU, when nvswitch
  /// Distance classes the file states, over GPUs then NICs; empty when it states the tree itself.
  std::vector<std::vector<PathClass>> paths;
  std::set<std::string> notes; // what was assumed or left out while reading
};

/// Letters, digits, '_', '-' and '.', at most 64.
bool is_device_name(const std::string& text);

/// Number of NVLink bricks of one GPU towards its peers.
int bricks_of(const FoundNode& node, std::size_t gpu);

/// Readers; `name` is what messages call the file. They throw ConfigError with the line.
FoundNode read_nccl_topology(const std::string& text, const std::string& name, int numa_per_socket);
FoundNode read_topo_matrix(const std::string& text, const std::string& name, int numa_per_socket);

} // namespace foretrain::platforms
