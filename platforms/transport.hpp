// How bytes travel between nodes: who moves them, how they are cut into packets, and the layers
// (tunnels, virtual adapters) that every packet passes.
//
// A transport stands on the wire, or over another one: flannel's VXLAN over a node's TCP/IP, that
// over the virtual adapter of a guest. What a layer does is core time: per segment where it handles
// up to 64 KiB at once (TSO, GSO and GRO of the kernel), per packet where it cannot, because the
// adapter does not look inside a tunnel or the kernel is old. Layers below one that hands on single
// packets handle single packets, too.
#pragma once

#include "platforms/parts.hpp"

namespace foretrain::platforms {

inline constexpr PresetKind kTransportKind{"network", "platforms/data/transports"};

/// How payload is cut into packets on one kind of wire.
struct Framing {
  Bytes mtu{4096};           // payload and inner headers of one packet
  Bytes packet_headers{0};   // of the mtu: what is not payload (IP, TCP)
  Bytes wire_headers{0};     // around the mtu: link layer, preamble, gap, outer headers, checksums
  Seconds cpu_per_packet{};  // core time per packet where it differs from the transport's; 0: no
  bool sees_tunnels = false; // the adapter segments and checks what tunnels carry
};

/// When a layer handles segments instead of packets.
enum class Aggregation { always, adapter, never };
constexpr auto choices(Aggregation)
{
  return std::to_array<Choice<Aggregation>>({{Aggregation::always, "always"},
                                             {Aggregation::adapter, "adapter"},
                                             {Aggregation::never, "never"}});
}

/// Whose thread does what a layer does: the core's that serves a connection; or one for all
/// connections, both ways: of the host for a guest's virtual adapter (vhost), or of a program that
/// packets pass (flanneld).
enum class LayerThread { connection, adapter, daemon };
constexpr auto choices(LayerThread)
{
  return std::to_array<Choice<LayerThread>>({{LayerThread::connection, "connection"},
                                             {LayerThread::adapter, "adapter"},
                                             {LayerThread::daemon, "daemon"}});
}

/// A layer between sockets and the wire.
struct TransportLayer {
  std::string name;
  Bytes encapsulation{};     // around each packet
  Seconds latency{};         // one way, both ends together
  Seconds cpu_per_segment{}; // core time, each end, of what it handles at once
  Seconds cpu_per_packet{};  // the same for a packet that it handles by itself
  double copies = 0;         // memory copies per byte
  Aggregation aggregation = Aggregation::always;
  LayerThread thread = LayerThread::connection;
};

/// Who moves the bytes: adapters or sockets of the kernel.
enum class NetworkProtocol { rdma, tcp };
constexpr auto choices(NetworkProtocol)
{
  return std::to_array<Choice<NetworkProtocol>>(
      {{NetworkProtocol::rdma, "rdma"}, {NetworkProtocol::tcp, "tcp"}});
}

/// Transports of TCP, by the wire below.
struct SocketTransports {
  Value ethernet;
  Value infiniband;

  const Value& on(LinkLayer link) const
  {
    return link == LinkLayer::infiniband ? infiniband : ethernet;
  }
};

struct Transport {
  std::string name;
  NetworkProtocol protocol = NetworkProtocol::rdma;
  std::optional<Framing> ethernet; // absent: it does not run there
  std::optional<Framing> infiniband;
  bool gpudirect = true;     // rdma only: the adapter reads and writes GPU memory
  bool passthrough = false;  // in a guest: the adapter, or a virtual function, is the guest's own
  bool one_machine = false;  // joins processes of one machine, no nodes of a cluster
  bool of_guests = false;    // by their virtual adapter: there is none without a guest
  Seconds latency{};         // one way, software and adapters, without switches
  Bytes segment{65536};      // what the stack handles at once (TSO, GRO); the mtu when it cannot
  Seconds cpu_per_segment{}; // core time per segment, each end
  Seconds cpu_per_packet{};  // core time per packet on the wire, each end
  double copies = 0;         // memory copies per byte by the CPU, each end
  BytesPerSecond copy_rate{8e9};  // of one core
  std::optional<int> connections; // parallel, per channel of a collective; else the library's
  bool one_flow = false;          // what two nodes send each other has addresses, but no ports
  /// rdma only: what software that knows sockets alone takes over the same adapters.
  std::optional<SocketTransports> sockets;
  // Of one that stands over another, the values above are those of the lowest, and its own are:
  std::vector<TransportLayer> layers; // the uppermost first
  // Between pods of one node, whose bridge or routes join them before any tunnel; none: the same.
  std::vector<Transport> within_node{};

  const std::optional<Framing>& framing(LinkLayer link) const
  {
    return link == LinkLayer::infiniband ? infiniband : ethernet;
  }
  /// Whether software sees the adapters themselves, and not a virtual one above them.
  bool shows_adapters() const { return layers.empty(); }
  /// Connections of a channel where the library opens none by an adapter's vendor.
  int parallel() const { return connections.value_or(1); }
  /// Copies of a byte, and latency, of all layers.
  double all_copies() const;
  Seconds all_latency() const;
  Bytes encapsulation() const;
};

/// What a byte takes of a thread that serves all connections of a node or a guest (core-seconds).
struct ThreadWork {
  std::size_t layer; // of the transport
  double seconds;
  bool of_host; // behind a guest's virtual adapter, or that itself
};

/// Core time of one end per payload byte (core-seconds).
struct ByteWork {
  double sockets = 0;                // of the core that serves the connection
  std::vector<ThreadWork> threads{}; // of others, by layer, the uppermost first
  double all() const;
};
ByteWork byte_work(const Transport& transport, const Framing& framing);

/// Core time per payload byte that the receiver's interrupts take at one end (core-seconds):
/// packets, segments and layers, without the copies of the threads that read and write sockets.
double interrupt_work(const Transport& transport, const Framing& framing);

/// Wire bytes per payload byte that acknowledgements take of the way back: one for each segment, or
/// for every second packet that reaches the socket by itself (RFC 1122, 4.2.3.2).
double acknowledged(const Transport& transport, const Framing& framing);
/// Wire bytes per payload byte.
double wire_expansion(const Framing& framing);

Transport load_transport(const Value& reference);

/// The transport with another's layers below its own: the virtual adapter of a guest.
Transport over(Transport upper, const Transport& lower);

/// The transport on cores that do its work in so many times less.
Transport on_faster_cores(Transport transport, double factor);

/// A transport as its file has it.
struct TransportFile {
  Transport transport;
  Value over;
  Value within_node;
  Bytes encapsulation{};
  Aggregation aggregation = Aggregation::always;
  LayerThread thread = LayerThread::connection;
};

template <class V>
void describe(V& v, Framing& s)
{
  v.required("mtu", s.mtu, "payload and inner headers of one packet", positive());
  v.optional("packet_headers", s.packet_headers, "bytes of the mtu that are headers",
             non_negative());
  v.optional("wire_headers", s.wire_headers, "bytes around the mtu on the wire", non_negative());
  v.optional(
      "cpu_per_packet", s.cpu_per_packet,
      "core time per packet, each end, where it differs from the transport's; 0: it does not",
      non_negative());
}

template <class V>
void describe(V& v, SocketTransports& s)
{
  v.optional("ethernet", s.ethernet, "on Ethernet", preset("network"));
  v.optional("infiniband", s.infiniband, "on InfiniBand", preset("network"));
}

template <class V>
void describe(V& v, TransportFile& file)
{
  Transport& s = file.transport;
  v.format("foretrain.transport/1");
  v.required("name", s.name, "name of the transport");
  v.optional("over", file.over,
             "the transport that carries its packets: what stands here is then what this layer "
             "adds",
             preset("network"));
  v.optional("protocol", s.protocol, "who moves the bytes; with 'over' as below");
  v.optional("ethernet", s.ethernet, "packets on Ethernet, if it runs there; with 'over' as below");
  v.optional("infiniband", s.infiniband,
             "packets on InfiniBand, if it runs there; with 'over' as below");
  v.optional("gpudirect", s.gpudirect, "the adapter reads and writes GPU memory (rdma only)");
  v.optional("one_machine", s.one_machine,
             "joins processes of one machine: no choice for a cluster");
  v.optional("of_guests", s.of_guests,
             "by a guest's virtual adapter: no choice where there is no virtual machine");
  v.optional("passthrough", s.passthrough,
             "in a virtual machine: the adapter or a virtual function of it is the guest's own");
  v.optional("latency", s.latency, "one way, software and adapters", latency());
  v.optional("segment", s.segment, "bytes that the stack handles at once", positive());
  v.optional("cpu_per_segment", s.cpu_per_segment, "core time per segment, each end",
             non_negative());
  v.optional("cpu_per_packet", s.cpu_per_packet,
             "core time per packet, each end; with 'over' where it handles single packets",
             non_negative());
  v.optional("copies", s.copies, "memory copies per byte by the CPU, each end", non_negative());
  v.optional("copy_rate", s.copy_rate, "of one core; with 'over' as below", positive());
  v.optional(
      "connections", s.connections,
      "parallel connections per channel, instead of what the library opens by itself; with 'over' "
      "as below",
      between(1, 64));
  v.optional("one_flow", s.one_flow,
             "its packets have addresses, but no ports (IP in IP): to networks and adapters all "
             "that one node sends another is one flow, which one core of each end serves, and a "
             "cloud that caps flows caps all of it");
  v.optional("sockets", s.sockets,
             "rdma only: what software takes over the same adapters that knows sockets alone");
  v.optional("within_node", file.within_node,
             "with 'over': the transport between pods of one node, which a bridge or routes join "
             "before any tunnel; default this one",
             preset("network"));
  v.optional("encapsulation", file.encapsulation, "with 'over': bytes around each packet",
             non_negative());
  v.optional("aggregation", file.aggregation,
             "with 'over': whether it handles segments of many packets: always, where the adapter "
             "looks inside tunnels, or never");
  v.optional("thread", file.thread,
             "with 'over': whose thread does its work: of the core that serves a connection, or "
             "one for all connections both ways: the host's for a guest's virtual adapter (vhost), "
             "or a program's that packets pass (flanneld)");
}

} // namespace foretrain::platforms
