// Software between a job and the hardware: how the host is virtualised and how bytes cross the
// network. Each is described by causes; nothing here is a percentage of a result.
#pragma once

#include "platforms/parts.hpp"

namespace foretrain::platforms {

inline constexpr PresetKind kHostKind{"host", "platforms/data/hosts"};
inline constexpr PresetKind kTransportKind{"network", "platforms/data/transports"};

/// What the host layer takes away or adds.
struct Host {
  std::string name;
  bool peer_to_peer = true; // GPUs reach each other over PCIe
  bool nvlink = true;       // the guest sees NVLink
  bool gpudirect_rdma = true;
  double cpu_overhead = 1;  // core-seconds needed per core-second of work on bare metal
  Seconds kernel_launch;    // added to each kernel launch
  Seconds network_latency;  // added to each message, both ends together
  Seconds cpu_per_packet;   // core time per packet that the layer itself handles (virtio, bridge)
  double memory_copies = 0; // copies per network byte that the layer adds
  Seconds disk_latency;     // added to each request to a local disk
  Seconds cpu_per_disk_request;   // core time for each request to a local disk
  std::string isolation = "none"; // how two tenants are kept apart: none, cgroup, vm
  Seconds start;                  // from launch to the first instruction of the job
};

/// How payload is cut into packets on one kind of wire.
struct Framing {
  Bytes mtu{4096};         // payload and inner headers of one packet
  Bytes packet_headers{0}; // of the mtu: what is not payload (IP, TCP)
  Bytes wire_headers{0};   // around the mtu: link layer, preamble, gap, outer headers, checksums
};

/// How bytes travel between nodes.
struct Transport {
  std::string name;
  std::string protocol = "rdma";   // or "tcp"
  std::optional<Framing> ethernet; // absent: it does not run there
  std::optional<Framing> infiniband;
  bool gpudirect = true;     // rdma only: the adapter reads and writes GPU memory
  Seconds latency{};         // one way, software and adapters, without switches
  Bytes segment{65536};      // what the stack handles at once (TSO, GRO); the mtu when it cannot
  Seconds cpu_per_segment{}; // core time per segment, each end
  Seconds cpu_per_packet{};  // core time per packet on the wire, each end
  double copies = 0;         // memory copies per byte by the CPU, each end
  BytesPerSecond copy_rate{8e9}; // of one core
  int connections = 1;           // parallel connections per channel of a collective

  const std::optional<Framing>& framing(const std::string& link) const
  {
    return link == "infiniband" ? infiniband : ethernet;
  }
};

struct Stack {
  Host host;
  Transport transport;
};

/// Core-seconds per payload byte at one end of a connection.
double cpu_seconds_per_byte(const Stack& stack, const Framing& framing);
/// Wire bytes per payload byte.
double wire_expansion(const Framing& framing);

Host load_host(const Value& reference);
Transport load_transport(const Value& reference);

template <class V>
void describe(V& v, Framing& s)
{
  v.required("mtu", s.mtu, "payload and inner headers of one packet", positive());
  v.optional("packet_headers", s.packet_headers, "bytes of the mtu that are headers",
             non_negative());
  v.optional("wire_headers", s.wire_headers, "bytes around the mtu on the wire", non_negative());
}

template <class V>
void describe(V& v, Host& s)
{
  v.format("foretrain.host/1");
  v.required("name", s.name, "name of the layer");
  v.optional("peer_to_peer", s.peer_to_peer, "GPUs may reach each other over PCIe");
  v.optional("nvlink", s.nvlink, "NVLink is visible");
  v.optional("gpudirect_rdma", s.gpudirect_rdma, "adapters may reach GPU memory");
  v.optional("cpu_overhead", s.cpu_overhead, "core time per core time of bare metal",
             between(1, 10));
  v.optional("kernel_launch", s.kernel_launch, "added to each kernel launch", non_negative());
  v.optional("network_latency", s.network_latency, "added to each message", non_negative());
  v.optional("cpu_per_packet", s.cpu_per_packet, "core time per packet in the layer",
             non_negative());
  v.optional("memory_copies", s.memory_copies, "copies per network byte added", non_negative());
  v.optional("disk_latency", s.disk_latency, "added to each request to a local disk",
             non_negative());
  v.optional("cpu_per_disk_request", s.cpu_per_disk_request,
             "core time for each request to a local disk", non_negative());
  v.optional("isolation", s.isolation, "what keeps two tenants apart",
             one_of({"none", "cgroup", "vm"}));
  v.optional("start", s.start, "from launch to the job's first instruction", non_negative());
}

template <class V>
void describe(V& v, Transport& s)
{
  v.format("foretrain.transport/1");
  v.required("name", s.name, "name of the transport");
  v.required("protocol", s.protocol, "who moves the bytes", one_of({"rdma", "tcp"}));
  v.optional("ethernet", s.ethernet, "packets on Ethernet, if it runs there");
  v.optional("infiniband", s.infiniband, "packets on InfiniBand, if it runs there");
  v.optional("gpudirect", s.gpudirect, "the adapter reads and writes GPU memory (rdma only)");
  v.optional("latency", s.latency, "one way, software and adapters", non_negative());
  v.optional("segment", s.segment, "bytes that the stack handles at once", positive());
  v.optional("cpu_per_segment", s.cpu_per_segment, "core time per segment, each end",
             non_negative());
  v.optional("cpu_per_packet", s.cpu_per_packet, "core time per packet, each end", non_negative());
  v.optional("copies", s.copies, "memory copies per byte by the CPU, each end", non_negative());
  v.optional("copy_rate", s.copy_rate, "of one core", positive());
  v.optional("connections", s.connections, "parallel connections per channel", between(1, 64));
}

} // namespace foretrain::platforms
