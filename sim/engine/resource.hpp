// What a simulated resource is. Whoever asks goes by its kind; names are for people.
#pragma once

#include <string>

namespace foretrain::sim {

enum class ResourceKind : unsigned char {
  other,
  compute,       // arithmetic of a GPU
  device_memory, // of a GPU
  nvlink,
  pcie,
  root_port,
  socket_link,
  adapter, // of a network
  uplink,  // of a leaf switch
  dram,    // memory of a socket
  cores,   // of a node, or those of it that a job is confined to
  disk,    // of a node
  mount,   // connections of a node to file servers
  storage_disks,
  storage_operations,
  storage_cores,
  storage_link,
  storage_gateway,
  summation_thread, // of a parameter server
  network_thread,   // of a worker or a server
  verbs,            // what a worker or a server hands to RDMA
  file_thread,      // that opens and reads files
  flow,             // all packets from a node to another one, where nothing tells them apart
  flow_core,        // of a node: that serves these packets to and from another one
  layer_thread,     // of a node or a guest: that all its packets pass (vhost, flanneld)
};

/// Whether it is no node's, but of the network or the storage behind it.
bool is_fabric(ResourceKind kind);

/// Of links: towards the root or the network, or back.
enum class Direction : unsigned char { none, out, in };

struct Resource {
  ResourceKind kind = ResourceKind::other;
  int node = -1;    // of the cluster; -1: of none
  std::string part; // of the node, switch or storage: "gpu3", "plx0", "0-3", "ib0", a job's name
  Direction direction = Direction::none;
};

/// "node0/plx0/pcie/up", "node0/cores", "leaf1/down", "storage/disks".
std::string name_of(const Resource& resource);

} // namespace foretrain::sim
