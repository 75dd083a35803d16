#include "platforms/transport.hpp"

#include <algorithm>

namespace foretrain::platforms {

namespace {

constexpr int kMostTransports = 8;

void encapsulate(std::optional<Framing>& framing, Bytes around)
{
  if (!framing)
    return;
  framing->mtu = framing->mtu - around;
  framing->wire_headers += around;
}

void check_framing(const Value& value, const Transport& transport)
{
  if (!transport.ethernet && !transport.infiniband)
    value.fail("must have 'ethernet', 'infiniband' or both");
  for (const LinkLayer link : {LinkLayer::ethernet, LinkLayer::infiniband})
    if (const auto& framing = transport.framing(link);
        framing && framing->packet_headers >= framing->mtu) {
      const std::string key = word_of(link);
      if (value.json().contains(key))
        value.fail_at(key, "has no room for payload: packet_headers is not less than mtu");
      value.fail("has no room for payload inside its encapsulation");
    }
}

// What a layer's file says of the whole of it holds instead of what comes from below.
void take_what_is_given(Transport& result, const Transport& own, const Json& given)
{
  if (given.contains("ethernet"))
    result.ethernet = own.ethernet;
  if (given.contains("infiniband"))
    result.infiniband = own.infiniband;
  if (given.contains("segment"))
    result.segment = own.segment;
  if (given.contains("copy_rate"))
    result.copy_rate = own.copy_rate;
  if (given.contains("connections"))
    result.connections = own.connections;
}

Transport load(const Value& reference, int depth)
{
  const Value value = resolve_preset(reference, kTransportKind);
  auto file = read_as<TransportFile>(value);
  if (!file.over) {
    for (const char* key : {"encapsulation", "aggregation", "thread", "within_node"})
      if (value.json().contains(key))
        value.fail_at(key, "is of a layer over another transport: 'over' names that");
    if (!value.json().contains("protocol"))
      value.fail("lacks 'protocol': rdma or tcp", "or 'over', the transport that it stands on");
    check_framing(value, file.transport);
    return file.transport;
  }
  if (depth + 2 > kMostTransports) // this one and at least one below
    value.fail_at("over", "makes a stack of more than 8 transports", "does one stand on itself?");
  for (const char* key : {"protocol", "gpudirect"})
    if (value.json().contains(key))
      value.fail_at(key, "is that of the transport below", "change it there, or leave out 'over'");
  Transport result = load(file.over, depth + 1);
  if (result.protocol != NetworkProtocol::tcp)
    value.fail_at("over", "is '" + result.name + "', which is not TCP: its packets pass no layer");
  const Transport& own = file.transport;
  result.name = own.name;
  result.passthrough = result.passthrough || own.passthrough;
  result.one_flow = result.one_flow || own.one_flow;
  result.of_guests = result.of_guests || own.of_guests;
  result.layers.insert(result.layers.begin(),
                       {own.name, file.encapsulation, own.latency, own.cpu_per_segment,
                        own.cpu_per_packet, own.copies, file.aggregation, file.thread});
  encapsulate(result.ethernet, file.encapsulation);
  encapsulate(result.infiniband, file.encapsulation);
  take_what_is_given(result, own, value.json());
  check_framing(value, result);
  if (file.within_node)
    result.within_node = {load(file.within_node, depth + 1)};
  return result;
}

} // namespace

double Transport::all_copies() const
{
  double sum = copies;
  for (const TransportLayer& layer : layers)
    sum += layer.copies;
  return sum;
}

Seconds Transport::all_latency() const
{
  Seconds sum = latency;
  for (const TransportLayer& layer : layers)
    sum += layer.latency;
  return sum;
}

Bytes Transport::encapsulation() const
{
  Bytes sum{};
  for (const TransportLayer& layer : layers)
    sum += layer.encapsulation;
  return sum;
}

namespace {

// Whether a layer of the transport hands on single packets.
bool hands_on_packets(const TransportLayer& layer, const Framing& framing)
{
  return layer.aggregation == Aggregation::never ||
         (layer.aggregation == Aggregation::adapter && !framing.sees_tunnels);
}

// Of packets that reach the socket one by one (RFC 1122, 4.2.3.2: every second).
constexpr double kAcknowledged = 0.5;

} // namespace

double ByteWork::all() const
{
  double sum = sockets;
  for (const ThreadWork& it : threads)
    sum += it.seconds;
  return sum;
}

ByteWork byte_work(const Transport& t, const Framing& framing)
{
  ByteWork work;
  if (t.protocol == NetworkProtocol::rdma)
    return work;
  const double payload = (framing.mtu - framing.packet_headers).value();
  const double segment = std::max(t.segment.value(), payload);
  const double copy = 1 / t.copy_rate.value();
  const Seconds packet =
      framing.cpu_per_packet.value() > 0 ? framing.cpu_per_packet : t.cpu_per_packet;
  work.sockets = t.cpu_per_segment.value() / segment + packet.value() / payload + t.copies * copy;
  bool packets = false; // a layer above hands on single packets
  bool of_host = false;
  for (const TransportLayer& layer : t.layers) {
    packets = packets || hands_on_packets(layer, framing);
    const double handled =
        packets ? layer.cpu_per_packet.value() / payload : layer.cpu_per_segment.value() / segment;
    // Both ends' threads see what is sent and its acknowledgements, which carry no bytes to copy.
    const bool shared = layer.thread != LayerThread::connection;
    of_host = of_host || layer.thread == LayerThread::adapter;
    const double own = handled * (shared && packets ? 1 + kAcknowledged : 1) + layer.copies * copy;
    if (shared)
      work.threads.push_back({static_cast<std::size_t>(&layer - t.layers.data()), own, of_host});
    else
      work.sockets += own;
  }
  return work;
}

double interrupt_work(const Transport& t, const Framing& framing)
{
  double copied = t.copies;
  for (const TransportLayer& layer : t.layers)
    copied += layer.thread == LayerThread::connection ? layer.copies : 0;
  return byte_work(t, framing).sockets - copied / t.copy_rate.value();
}

double acknowledged(const Transport& t, const Framing& framing)
{
  if (t.protocol == NetworkProtocol::rdma)
    return 0;
  const double payload = (framing.mtu - framing.packet_headers).value();
  const bool packets =
      std::any_of(t.layers.begin(), t.layers.end(),
                  [&](const TransportLayer& layer) { return hands_on_packets(layer, framing); });
  const double covered = packets ? payload / kAcknowledged : std::max(t.segment.value(), payload);
  return (framing.packet_headers + framing.wire_headers).value() / covered;
}

double wire_expansion(const Framing& framing)
{
  return (framing.mtu + framing.wire_headers) / (framing.mtu - framing.packet_headers);
}

Transport load_transport(const Value& reference)
{
  return load(reference, 0);
}

Transport on_faster_cores(Transport transport, double factor)
{
  transport.cpu_per_segment *= 1 / factor;
  transport.cpu_per_packet *= 1 / factor;
  for (auto* framing : {&transport.ethernet, &transport.infiniband})
    if (*framing)
      (*framing)->cpu_per_packet *= 1 / factor;
  for (TransportLayer& layer : transport.layers) {
    layer.cpu_per_segment *= 1 / factor;
    layer.cpu_per_packet *= 1 / factor;
  }
  transport.copy_rate *= factor;
  for (Transport& within : transport.within_node)
    within = on_faster_cores(std::move(within), factor);
  return transport;
}

Transport over(Transport upper, const Transport& lower)
{
  upper.one_flow = upper.one_flow || lower.one_flow;
  upper.layers.insert(upper.layers.end(), lower.layers.begin(), lower.layers.end());
  encapsulate(upper.ethernet, lower.encapsulation());
  encapsulate(upper.infiniband, lower.encapsulation());
  return upper;
}

} // namespace foretrain::platforms
