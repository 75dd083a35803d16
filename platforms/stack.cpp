#include "platforms/stack.hpp"

#include <algorithm>

namespace foretrain::platforms {

double wire_expansion(const Framing& framing)
{
  return (framing.mtu + framing.wire_headers) / (framing.mtu - framing.packet_headers);
}

double cpu_seconds_per_byte(const Stack& stack, const Framing& framing)
{
  const Transport& t = stack.transport;
  if (t.protocol == "rdma")
    return 0;
  const double payload = (framing.mtu - framing.packet_headers).value();
  const double segment = std::max(t.segment.value(), payload);
  const double copies = t.copies + stack.host.memory_copies;
  return stack.host.cpu_overhead *
         (t.cpu_per_segment.value() / segment +
          (t.cpu_per_packet + stack.host.cpu_per_packet).value() / payload +
          copies / t.copy_rate.value());
}

Host load_host(const Value& reference)
{
  return read_as<Host>(resolve_preset(reference, kHostKind));
}

Transport load_transport(const Value& reference)
{
  const Value value = resolve_preset(reference, kTransportKind);
  auto transport = read_as<Transport>(value);
  if (!transport.ethernet && !transport.infiniband)
    value.fail("must have 'ethernet', 'infiniband' or both");
  for (const char* link : {"ethernet", "infiniband"})
    if (const auto& framing = transport.framing(link);
        framing && framing->packet_headers >= framing->mtu)
      value.fail_at(link, "has no room for payload: packet_headers is not less than mtu");
  return transport;
}

} // namespace foretrain::platforms
