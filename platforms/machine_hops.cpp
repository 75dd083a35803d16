// Hops of collectives: what a byte from one GPU, or one node's memory, to another uses.
#include "platforms/machine.hpp"

#include <algorithm>
#include <stdexcept>

namespace foretrain::platforms {

sim::Hop Machine::hop(GpuPlace a, GpuPlace b, Mover mover) const
{
  sim::Hop hop;
  if (a.node != b.node)
    return over_adapters(a, b, [&](int from, int to) { return network_hop({a, from}, {b, to}); });
  const bool apart = stack_.host.container_per_gpu && mover == Mover::collective;
  if (apart && networked() && stack_.transport.protocol == NetworkProtocol::rdma)
    return over_adapters(a, b, [&](int from, int to) { return network_hop({a, from}, {b, to}); });
  if (apart)
    return hop_between_pods(a, b);
  if (spec_.gpu.on_host())
    return hop_in_memory(a, b, stack_, local_framing_);
  const int bricks = stack_.host.nvlink ? graph_.bricks(a.local, b.local) : 0;
  if (bricks > 0) {
    hop.reach = sim::Reach::nvlink;
    const double weight =
        1 / (mover == Mover::copy_engine ? spec_.gpu.nvlink_copy_efficiency
                                         : spec_.gpu.nvlink_collective_efficiency);
    if (graph_.nvswitch()) {
      hop.uses.push_back({at(a.node, nvlink_ + 2 * a.local).value, weight});
      hop.uses.push_back({at(b.node, nvlink_ + 2 * b.local + 1).value, weight});
    } else {
      hop.uses.push_back({at(a.node, nvlink_ + a.local * graph_.gpus() + b.local).value, weight});
    }
    return hop;
  }
  hop.reach = sim::Reach::pcie;
  const int from = graph_.gpu(a.local);
  const int to = graph_.gpu(b.local);
  if (!staged(a.local, b.local)) {
    add_route(hop.uses, a.node, from, to);
    return hop;
  }
  // Through a buffer in host memory of the sender's socket.
  const int buffer = graph_.socket(graph_.socket_of(from));
  add_route(hop.uses, a.node, from, buffer);
  add_route(hop.uses, a.node, buffer, to);
  add_dram(hop.uses, a.node, a.local);
  add_dram(hop.uses, a.node, a.local);
  if (mover == Mover::collective) {
    const int first = at(a.node, root_).value;
    const int end = at(a.node, nvlink_).value;
    for (sim::Use& use : hop.uses)
      if (use.resource >= first && use.resource < end)
        use.weight /= spec_.cpu.kernel_staging;
  }
  return hop;
}

// Between virtual interfaces of one machine no adapter cuts segments into packets, and no tunnel is
// passed.
sim::Hop Machine::hop_between_pods(GpuPlace a, GpuPlace b) const
{
  const auto& within = stack_.transport.within_node;
  const Stack stack = within.empty() ? stack_ : Stack{stack_.host, within.front()};
  Framing framing = local_framing_;
  framing.mtu = stack.transport.segment + framing.packet_headers;
  framing.sees_tunnels = true;
  return hop_in_memory(a, b, stack, framing);
}

// Between workers on cores of one node, or GPUs that do not see each other: through memory, by a
// connection whose both ends work here.
sim::Hop Machine::hop_in_memory(GpuPlace a, GpuPlace b, const Stack& stack,
                                const Framing& framing) const
{
  sim::Hop hop;
  const Transport& transport = stack.transport;
  hop.reach = sim::Reach::pcie;
  const bool guest = stack_.host.isolation == Isolation::vm; // what stays in it passes no adapter
  hop.latency = transport.all_latency() + (guest ? Seconds(0) : stack_.host.network_latency);
  add_dram(hop.uses, a.node, a.local);
  add_dram(hop.uses, b.node, b.local);
  if (!spec_.gpu.on_host()) {
    hop.reach = sim::Reach::network; // to the library
    const int buffer = graph_.socket(graph_.socket_of(graph_.gpu(a.local)));
    add_route(hop.uses, a.node, graph_.gpu(a.local), buffer);
    add_route(hop.uses, a.node, buffer, graph_.gpu(b.local));
    for (const GpuPlace end : {a, b}) // the copies between threads and the kernel
      hop.uses.push_back({at(end.node, dram_ + graph_.socket_of(graph_.gpu(end.local))).value,
                          2 * transport.all_copies()});
  }
  if (transport.protocol == NetworkProtocol::tcp) {
    add_core_work(hop.uses, a.node, 2 * cpu_seconds_per_byte(stack, framing));
    hop.cap = connection_cap(stack, framing, transport.parallel());
  }
  return hop;
}

// Both ends of a connection: what the tenant's cores do, and what the host does for it.
void Machine::add_network_work(std::vector<sim::Use>& uses, int node, const Stack& stack,
                               const Framing& framing) const
{
  const ByteWork work = network_work(stack, framing);
  add_core_work(uses, node, work.sockets);
  for (const ThreadWork& it : work.threads) {
    it.of_host ? uses.push_back({cores(node).value, it.seconds})
               : add_core_work(uses, node, it.seconds);
    uses.push_back({layer_thread(node, stack, it), it.seconds});
  }
}

void Machine::add_fabric(std::vector<sim::Use>& uses, int from_node, int to_node,
                         double weight) const
{
  const Leaves& fabric = leaves();
  if (fabric.first < 0)
    return;
  const int from = from_node / fabric.nodes;
  const int to = to_node / fabric.nodes;
  if (from == to)
    return;
  uses.push_back({fabric.first + 2 * from, weight});
  uses.push_back({fabric.first + 2 * to + 1, weight});
}

Seconds Machine::network_latency(int from, int to, int nic) const
{
  const Leaves& fabric_leaves = leaves();
  const bool spine =
      fabric_leaves.first >= 0 && from / fabric_leaves.nodes != to / fabric_leaves.nodes;
  const int switches = spine ? 3 : 1;
  return stack_.transport.all_latency() + stack_.host.network_latency +
         spec_.nics[static_cast<std::size_t>(nic)].latency + switches * fabric().switch_latency;
}

int Machine::proxy_of(const NetworkEnd& end) const
{
  const int gpu = end.gpu.local;
  const auto near = [&](int g) {
    return graph_.classify(graph_.gpu(g), graph_.nic(end.nic)) <= PathClass::pxb;
  };
  const bool passes_on =
      end.owner >= 0 && stack_.host.nvlink && graph_.bricks(gpu, end.owner) > 0 && near(end.owner);
  return passes_on && !near(gpu) ? end.owner : gpu;
}

sim::Hop Machine::network_hop(const NetworkEnd& from, const NetworkEnd& to) const
{
  sim::Hop hop;
  const Transport& transport = stack_.transport;
  const double wire = wire_expansion(network_.framing);
  const double back = acknowledged(transport, network_.framing);
  hop.reach = sim::Reach::network;
  const bool direct = uses_gpudirect(stack_);
  const Nic& receiver = spec_.nics[static_cast<std::size_t>(to.nic)];
  const auto side = [&](const NetworkEnd& end, bool sending) {
    const auto [gpu, nic, owner] = end;
    const int gpu_part = graph_.gpu(gpu.local);
    const int nic_part = graph_.nic(nic);
    const int proxy = proxy_of(end);
    // NCCL's default (NCCL_NET_GDR_LEVEL=PXB): not by way of the host bridge.
    if (direct && graph_.classify(graph_.gpu(proxy), nic_part) <= PathClass::pxb) {
      const int near_part = graph_.gpu(proxy);
      sending ? add_route(hop.uses, gpu.node, near_part, nic_part)
              : add_route(hop.uses, gpu.node, nic_part, near_part);
      if (proxy != gpu.local) {
        const GpuPlace near{gpu.node, proxy};
        const sim::Hop nvlink = sending ? this->hop(gpu, near, Mover::collective)
                                        : this->hop(near, gpu, Mover::collective);
        hop.uses.insert(hop.uses.end(), nvlink.uses.begin(), nvlink.uses.end());
      }
      if (!sending) {
        hop.latency += receiver.flush;
        hop.rendezvous = receiver.rendezvous;
        hop.eager = receiver.eager;
        hop.handling += receiver.handling_beyond_one();
      }
    } else {
      const int memory = graph_.socket(graph_.socket_of(nic_part));
      if (sending) {
        add_route(hop.uses, gpu.node, gpu_part, memory);
        add_route(hop.uses, gpu.node, memory, nic_part);
      } else {
        add_route(hop.uses, gpu.node, nic_part, memory);
        add_route(hop.uses, gpu.node, memory, gpu_part);
      }
      const double passes =
          2 + (transport.protocol == NetworkProtocol::tcp ? 2 * transport.all_copies() : 0);
      hop.uses.push_back({at(gpu.node, dram_ + graph_.socket_of(nic_part)).value, passes});
    }
    hop.uses.push_back({at(gpu.node, nic_ + 2 * nic + (sending ? 0 : 1)).value, wire});
    hop.uses.push_back({at(gpu.node, nic_ + 2 * nic + (sending ? 1 : 0)).value, back});
    if (transport.protocol == NetworkProtocol::tcp)
      add_network_work(hop.uses, gpu.node);
  };
  side(from, true);
  add_fabric(hop.uses, from.gpu.node, to.gpu.node, wire);
  add_flow(hop.uses, from.gpu.node, to.gpu.node, wire);
  side(to, false);
  hop.latency += network_latency(from.gpu.node, to.gpu.node, from.nic);
  if (transport.protocol == NetworkProtocol::rdma)
    hop.handling += receiver.completion;
  if (transport.protocol == NetworkProtocol::tcp)
    hop.cap = socket_cap(transport.parallel(), transport.parallel());
  return hop;
}

double Machine::socket_cap(double threads, double connections) const
{
  const double cores = threads * connection_cap(stack_, network_.framing, 1);
  const auto& flow = fabric().flow_rate;
  return flow && !stack_.transport.one_flow
             ? std::min(cores, connections * flow->value() / wire_expansion(network_.framing))
             : cores;
}

// The sender writes into memory of the third GPU, the receiver reads it from there.
sim::Hop Machine::relay_hop(GpuPlace a, GpuPlace b) const
{
  sim::Hop direct = hop(a, b, Mover::collective);
  if (a.node != b.node || direct.reach == sim::Reach::nvlink || !stack_.host.nvlink)
    return direct;
  int best = -1;
  int most = 0;
  for (int via = 0; via < graph_.gpus(); ++via) {
    const int bricks = std::min(graph_.bricks(a.local, via), graph_.bricks(via, b.local));
    if (via != a.local && via != b.local && bricks > most) {
      best = via;
      most = bricks;
    }
  }
  if (best < 0)
    return direct;
  sim::Hop relayed = hop(a, {a.node, best}, Mover::collective);
  const sim::Hop second = hop({a.node, best}, b, Mover::collective);
  relayed.uses.insert(relayed.uses.end(), second.uses.begin(), second.uses.end());
  return relayed;
}

sim::Hop Machine::host_hop(int from, int to, int nic) const
{
  sim::Hop hop;
  hop.from = from;
  hop.to = to;
  const Transport& transport = stack_.transport;
  if (from == to) {
    hop.reach = sim::Reach::pcie;
    hop.uses = {{at(from, dram_).value, 2.0},
                {at(from, cores_).value, 1 / transport.copy_rate.value()}};
    return hop;
  }
  if (nic < 0)
    throw std::logic_error("a hop between nodes without a network");
  const bool tcp = transport.protocol == NetworkProtocol::tcp;
  const double wire = wire_expansion(network_.framing);
  const double back = acknowledged(transport, network_.framing);
  const int part = graph_.nic(nic);
  const int socket = graph_.socket_of(part);
  hop.reach = sim::Reach::network;
  for (const int node : {from, to}) {
    const bool sends = node == from;
    const int memory = graph_.socket(socket);
    add_route(hop.uses, node, sends ? memory : part, sends ? part : memory);
    hop.uses.push_back(
        {at(node, dram_ + socket).value, 1 + (tcp ? 2 * transport.all_copies() : 0)});
    hop.uses.push_back({at(node, nic_ + 2 * nic + (sends ? 0 : 1)).value, wire});
    hop.uses.push_back({at(node, nic_ + 2 * nic + (sends ? 1 : 0)).value, back});
    if (tcp)
      add_network_work(hop.uses, node);
  }
  add_fabric(hop.uses, from, to, wire);
  add_flow(hop.uses, from, to, wire);
  hop.latency = network_latency(from, to, nic);
  if (tcp)
    hop.cap = socket_cap(1, 1);
  return hop;
}

} // namespace foretrain::platforms
