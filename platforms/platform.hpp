// A platform: one kind of node, how many there can be, and the fabric that joins them.
#pragma once

#include "platforms/parts.hpp"

#include <array>
#include <optional>

namespace foretrain::platforms {

inline constexpr PresetKind kPlatformKind{"platform", "platforms/data/platforms"};

struct PcieSwitchSpec {
  std::string name;
  std::string on;     // "socket0" or another switch
  int generation = 0; // 0, until the platform is read: as of what hangs on it
  int lanes = 16;
};

struct GpusSpec {
  Value type;
  std::vector<std::string> on; // where each GPU is plugged: "socket1", "switch0"
  std::optional<int> generation;
  std::optional<int> lanes;
};

struct NvlinkSpec {
  int all_pairs = 0;                   // bricks between every pair
  std::vector<std::vector<int>> pairs; // [gpu, gpu, bricks]
  bool nvswitch = false;               // every brick of every GPU goes to a switch
  bool in_network_reduction = false;   // the switch can add (NVLS)
};

struct NicSpec {
  std::string name;
  Value type;
  std::string on;
};

struct DiskSpec {
  std::string name;
  Value type;
  std::string on = "socket0";
  int count = 1; // alike, striped over (RAID 0)
};

struct NodeSpec {
  std::string name;
  int sockets = 1;
  Value cpu;
  Bytes memory;
  std::vector<PcieSwitchSpec> pcie_switches;
  std::optional<GpusSpec> gpus;
  NvlinkSpec nvlink;
  std::vector<NicSpec> nics;
  std::vector<DiskSpec> disks;
  bool peer_to_peer = true; // GPUs may reach each other's memory over PCIe
  bool pcie_acs = false;    // switches send traffic between devices up to the host bridge
  Bytes pcie_max_payload{128};
};

struct NetworkSpec {
  std::vector<std::string> nics; // names of the NICs of each node that are plugged into it
  Value fabric;
  Bytes mtu{}; // of IP packets; 0: that of the transport (1500 on Ethernet)
};

struct PlatformSpec {
  std::string name;
  std::string description;
  NodeSpec node;
  std::optional<int> nodes_told; // "max_nodes" of the file
  int max_nodes = 1;
  std::vector<NetworkSpec> networks;
  bool guest = false; // told as its guests see it

  // The presets above, read.
  Gpu gpu;
  Cpu cpu;
  std::vector<Nic> nics;       // parallel to node.nics
  std::vector<Disk> disks;     // parallel to node.disks
  std::vector<Fabric> fabrics; // parallel to networks
  Value origin;
  std::vector<std::string> remarks; // what is not as its parts by themselves say

  int gpus_per_node() const { return node.gpus ? static_cast<int>(node.gpus->on.size()) : 0; }
};

/// Rates of one kind of link differ by a quarter at least from one generation to the next
/// (Ethernet's 40 and 50 Gb/s); what differs by less is the same one, as it was measured or varies.
constexpr double kSameLink = 1.15;

/// A link runs at the rate of the slower of its ends, an adapter or a switch's port: adapters get
/// the rate at which they run, and where that is not their own, a remark.
void limit_to_ports(PlatformSpec& spec);

/// Reads and checks a platform. Throws ConfigError.
PlatformSpec load_platform(const Value& reference);
PlatformSpec load_platform(const std::string& name_or_path);

template <class V>
void describe(V& v, PcieSwitchSpec& s)
{
  v.required("name", s.name, "name that devices refer to");
  v.required("on", s.on, "what its uplink is plugged into: a socket or another switch");
  v.optional("generation", s.generation,
             "PCIe generation of the uplink; default the GPUs', at a socket not above its CPU's",
             between(1, 6));
  v.optional("lanes", s.lanes, "lanes of the uplink", between(1, 16));
}

template <class V>
void describe(V& v, GpusSpec& s)
{
  v.required("type", s.type, "the GPU", preset("gpu"));
  v.required("on", s.on, "for each GPU the socket or PCIe switch it is plugged into");
  v.optional("generation", s.generation, "PCIe generation, if lower than the GPU's", between(1, 6));
  v.optional("lanes", s.lanes, "PCIe lanes, if fewer than the GPU's", between(1, 16));
}

template <class V>
void describe(V& v, NvlinkSpec& s)
{
  v.optional("all_pairs", s.all_pairs, "bricks between every pair of GPUs", non_negative());
  v.optional("pairs", s.pairs, "[gpu, gpu, bricks] for each pair that is joined");
  v.optional("nvswitch", s.nvswitch, "every brick of every GPU goes to a switch");
  v.optional("in_network_reduction", s.in_network_reduction, "the switch adds while it forwards");
}

template <class V>
void describe(V& v, NicSpec& s)
{
  v.required("name", s.name, "name used in reports, like ib0");
  v.required("type", s.type, "the adapter", preset("nic"));
  v.required("on", s.on, "the socket or PCIe switch it is plugged into");
}

template <class V>
void describe(V& v, DiskSpec& s)
{
  v.required("name", s.name, "name used in reports, like nvme0");
  v.required("type", s.type, "the disk", preset("disk"));
  v.optional("on", s.on, "the socket or PCIe switch it is plugged into");
  v.optional("count", s.count, "so many alike, striped over (RAID 0)", between(1, 64));
}

template <class V>
void describe(V& v, NodeSpec& s)
{
  v.optional("name", s.name, "model of the server; the platform's name where it is not told");
  v.required("sockets", s.sockets, "CPU sockets", between(1, 8));
  v.required("cpu", s.cpu, "the CPU in each socket", preset("cpu"));
  v.required("memory", s.memory, "main memory of the node", at_least(1e9));
  v.optional("pcie_switches", s.pcie_switches, "PCIe switches, each after what it hangs on");
  v.optional("gpus", s.gpus, "the GPUs, all of one type; none for a file server or head node");
  v.optional("nvlink", s.nvlink, "NVLink joins between the GPUs");
  v.optional("nics", s.nics, "network adapters");
  v.optional("disks", s.disks, "local disks");
  v.optional("peer_to_peer", s.peer_to_peer, "GPUs may reach each other's memory over PCIe");
  v.optional("pcie_acs", s.pcie_acs,
             "PCIe switches send traffic between the devices below them up to the host bridge and "
             "back (access control services, as firmware may turn on with VT-d or AMD-Vi)");
  v.optional("pcie_max_payload", s.pcie_max_payload, "bytes of data in one PCIe packet",
             between(64, 4096));
}

template <class V>
void describe(V& v, NetworkSpec& s)
{
  v.required("nics", s.nics, "names of the adapters plugged into this fabric");
  v.required("fabric", s.fabric, "the switch or fabric", preset("fabric"));
  v.optional("mtu", s.mtu, "largest IP packet, like 9000 B; default as the transport has it",
             between(576, 65536));
}

template <class V>
void describe(V& v, PlatformSpec& s)
{
  v.format("foretrain.platform/1");
  v.required("name", s.name, "name of the platform");
  v.optional("description", s.description, "what it is, for people");
  v.required("node", s.node, "the node");
  v.optional("max_nodes", s.nodes_told,
             "how many nodes there can be; else 1024 where networks join them, or 1", at_least(1));
  v.optional("networks", s.networks, "fabrics that join the nodes, the one for training first");
  v.optional(
      "guest", s.guest,
      "told as its guests see it, as instances of clouds are: a virtual machine as host layer "
      "adds nothing to it");
}

} // namespace foretrain::platforms
