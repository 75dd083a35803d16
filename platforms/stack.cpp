#include "platforms/stack.hpp"

#include "sim/engine/max_min.hpp"

#include <algorithm>

namespace foretrain::platforms {

namespace {

bool passes_virtual_adapter(const Transport& transport)
{
  return std::any_of(
      transport.layers.begin(), transport.layers.end(),
      [](const TransportLayer& layer) { return layer.thread == LayerThread::adapter; });
}

} // namespace

bool uses_gpudirect(const Stack& stack)
{
  return stack.transport.protocol == NetworkProtocol::rdma && stack.transport.gpudirect &&
         stack.host.gpudirect_rdma;
}

Stack make_stack(Host host, Transport transport)
{
  Stack stack{std::move(host), std::move(transport)};
  if (!stack.host.guest_network || stack.transport.protocol != NetworkProtocol::tcp ||
      stack.transport.passthrough || passes_virtual_adapter(stack.transport))
    return stack;
  const Transport guest = load_transport(stack.host.guest_network);
  stack.assumed.push_back("network '" + stack.transport.name + "' was taken to pass '" +
                          guest.name + "' in a '" + stack.host.name +
                          "'; one with \"passthrough\" has an adapter of its own");
  // The virtual adapter does not look inside tunnels, whatever the host's does.
  for (TransportLayer& layer : stack.transport.layers)
    if (layer.aggregation == Aggregation::adapter)
      layer.aggregation = Aggregation::never;
  stack.transport = over(std::move(stack.transport), guest);
  return stack;
}

ByteWork network_work(const Stack& stack, const Framing& framing)
{
  const Transport& t = stack.transport;
  ByteWork work = byte_work(t, framing);
  if (t.protocol == NetworkProtocol::rdma)
    return work;
  const double payload = (framing.mtu - framing.packet_headers).value();
  work.sockets =
      stack.host.cpu_overhead * (work.sockets + stack.host.cpu_per_packet.value() / payload +
                                 stack.host.memory_copies / t.copy_rate.value());
  for (ThreadWork& it : work.threads)
    if (!it.of_host)
      it.seconds *= stack.host.cpu_overhead;
  return work;
}

bool serves_one_guest(const Stack& stack, const ThreadWork& work)
{
  return stack.host.isolation == Isolation::vm &&
         (!work.of_host || stack.transport.layers[work.layer].thread == LayerThread::adapter);
}

double cpu_seconds_per_byte(const Stack& stack, const Framing& framing)
{
  return network_work(stack, framing).all();
}

double connection_cap(const Stack& stack, const Framing& framing, int connections)
{
  const double work = network_work(stack, framing).sockets;
  return work > 0 ? connections / work : sim::MaxMin::kNoCap;
}

Host load_host(const Value& reference)
{
  return read_as<Host>(resolve_preset(reference, kHostKind));
}

} // namespace foretrain::platforms
