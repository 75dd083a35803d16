// The inside of a node as a graph: GPUs, PCIe switches, sockets, adapters, disks and what joins
// them.
#pragma once

#include "platforms/platform.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

enum class PartKind { gpu, pcie_switch, socket, nic, disk };

/// Distance classes as in `nvidia-smi topo -m`, nearest first.
enum class PathClass { self, nvlink, pix, pxb, phb, sys };
const char* short_name(PathClass path); // "NV", "PIX", ...

struct Part {
  PartKind kind;
  std::string name;
  int number; // among its kind
};

/// A join between two parts. PCIe lies between a device and what it is plugged into (upper); the
/// link between two sockets has the lower-numbered socket as upper.
struct Join {
  int lower;
  int upper;
  BytesPerSecond capacity; // each direction
  bool between_sockets = false;
};

/// A PCIe route: the joins passed, with the direction.
struct Leg {
  int join;
  bool up; // from lower to upper
};

class NodeGraph {
public:
  explicit NodeGraph(const PlatformSpec& spec);

  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Join>& joins() const { return joins_; }
  int gpu(int number) const { return gpus_.at(static_cast<std::size_t>(number)); }
  int nic(int number) const { return nics_.at(static_cast<std::size_t>(number)); }
  int socket(int number) const { return sockets_.at(static_cast<std::size_t>(number)); }
  int disk(int number) const { return disks_.at(static_cast<std::size_t>(number)); }
  int gpus() const { return static_cast<int>(gpus_.size()); }
  int nics() const { return static_cast<int>(nics_.size()); }
  int sockets() const { return static_cast<int>(sockets_.size()); }

  /// NVLink bricks between two GPUs (0 when there are none; with a switch: all bricks of a GPU).
  int bricks(int gpu_a, int gpu_b) const;
  /// Whether NVLinks end in a switch instead of at a peer.
  bool nvswitch() const { return nvswitch_; }

  /// Shortest PCIe route between two parts (Dijkstra over the joins; NVLink is not part of it).
  std::vector<Leg> route(int from, int to) const;
  /// The same where PCIe switches send what passes between devices up to the host bridge and back
  /// (access control services): PCI Express Base Specification, 6.12, ACS P2P Request Redirect.
  std::vector<Leg> redirected_route(int from, int to) const;
  /// The socket a part hangs on.
  int socket_of(int part) const;
  PathClass classify(int from, int to) const;

private:
  int add(PartKind kind, const std::string& name, int number);
  int find(const std::string& name) const;
  void join(int lower, int upper, BytesPerSecond capacity, bool between_sockets = false);
  void compute_routes();

  std::vector<Part> parts_;
  std::vector<Join> joins_;
  std::vector<int> gpus_, nics_, sockets_, disks_;
  std::vector<int> bricks_; // gpus x gpus
  bool nvswitch_ = false;
  std::vector<std::vector<int>> previous_; // [from][part] -> join leading there, -1 at the start
};

/// Usable bandwidth of a PCIe link, one direction: line rate after encoding, less packet headers.
/// PCIe Base Specification: 8/10 coding to generation 2, 128/130 from 3 on; 12 or 16 bytes of
/// header, 8 bytes of framing, sequence number and CRC, and 2 bytes of flow-control traffic per
/// packet.
BytesPerSecond pcie_bandwidth(int generation, int lanes, Bytes max_payload);
/// The same of the link between a GPU and its node, whose slots may be narrower than the GPU's.
BytesPerSecond gpu_link(const PlatformSpec& platform);

} // namespace foretrain::platforms
