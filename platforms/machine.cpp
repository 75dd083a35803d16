#include "platforms/machine.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {
// Resources that jobs add to a node, as room for them: their cores, a thread that opens files.

double reference_pcie()
{
  return pcie_bandwidth(3, 16, Bytes(128)).value();
}

double payload_share(Bytes payload, Bytes max_payload)
{
  return pcie_bandwidth(3, 1, payload) / pcie_bandwidth(3, 1, max_payload);
}

std::vector<std::string> adapter_names(const PlatformSpec& spec)
{
  std::vector<std::string> names;
  for (std::size_t i = 0; i < spec.nics.size(); ++i)
    names.push_back(fmt::format("{} ({}{})", spec.node.nics[i].name, word_of(spec.nics[i].link),
                                spec.nics[i].rdma ? ", rdma" : ""));
  return names;
}

// Frames of the network's size; RoCE packets carry a power of two that fits into one.
Framing framing_on(const NetworkSpec& network, const Nic& nic, const Transport& transport)
{
  Framing framing = transport.framing(nic.link).value();
  framing.sees_tunnels = nic.tunnel_offload;
  if (network.mtu.value() <= 0)
    return framing;
  if (transport.protocol == NetworkProtocol::tcp) {
    framing.mtu = network.mtu - transport.encapsulation();
    return framing;
  }
  constexpr double kRoceHeaders = 44; // IP 20, UDP 8, BTH 12, ICRC 4 inside of a frame
  for (const double payload : {4096.0, 2048.0, 1024.0})
    if (nic.link == LinkLayer::ethernet && payload + kRoceHeaders <= network.mtu.value()) {
      framing.mtu = Bytes(payload);
      break;
    }
  return framing;
}
} // namespace

Network find_network(const PlatformSpec& spec, const Transport& transport, std::size_t first)
{
  const auto nic_index = [&spec](const std::string& name) {
    for (std::size_t i = 0; i < spec.node.nics.size(); ++i)
      if (spec.node.nics[i].name == name)
        return static_cast<int>(i);
    throw std::logic_error("no adapter named " + name);
  };
  Network network;
  for (std::size_t n = first; n < spec.networks.size() && network.index < 0; ++n)
    for (const auto& name : spec.networks[n].nics) {
      const Nic& nic = spec.nics[static_cast<std::size_t>(nic_index(name))];
      const auto& framing = transport.framing(nic.link);
      if (!framing || (transport.protocol == NetworkProtocol::rdma && !nic.rdma))
        continue;
      network.framing = framing_on(spec.networks[n], nic, transport);
      network.index = static_cast<int>(n);
      network.nics.push_back(nic_index(name));
    }
  return network;
}

struct Machine::NodeResources {
  struct Listed {
    sim::Resource what; // of no node
    double capacity;
  };
  sim::Engine& engine;
  std::vector<Listed> list{};
  std::vector<int> first{}; // of each node; -1: not made yet
  // By node and other node: the core that serves their flow, and the flow out of the node.
  std::map<std::pair<int, int>, sim::ResourceId> flow_cores{}, flows{};
  // By node, guest (0: all that the node runs) and layer.
  std::map<std::tuple<int, int, std::string>, sim::ResourceId> layer_threads{};
  int guests = 0;
};

Machine::Machine(sim::Engine& engine, const PlatformSpec& spec, const Stack& stack, int nodes,
                 double pcie_scale)
    : spec_(spec), stack_(stack), graph_(spec), nodes_(nodes), pcie_scale_(pcie_scale),
      node_resources_(std::make_shared<NodeResources>(NodeResources{engine}))
{
  if (nodes > spec.max_nodes)
    spec.origin.fail_at("max_nodes",
                        fmt::format("is {}, but {} nodes are asked for", spec.max_nodes, nodes));
  choose_network();
  list_node();
  node_resources_->first.assign(static_cast<std::size_t>(nodes), -1);
  build_fabric(engine);
}

sim::ResourceId Machine::at(int node, int index) const
{
  NodeResources& all = *node_resources_;
  int& first = all.first[static_cast<std::size_t>(node)];
  if (first < 0)
    for (const NodeResources::Listed& it : all.list) {
      sim::Resource what = it.what;
      what.node = node;
      const sim::ResourceId made = all.engine.add_resource(what, it.capacity);
      if (first < 0)
        first = made.value;
    }
  return {first + index};
}

// Adapters give what has no ports to a queue by its two addresses, and that to one core: it handles
// what arrives from the other node and what acknowledgements from there let go out.
void Machine::add_flow(std::vector<sim::Use>& uses, int from, int to, double wire) const
{
  if (!stack_.transport.one_flow)
    return;
  NodeResources& all = *node_resources_;
  const auto resource = [&](auto& made, int node, int other, sim::Resource what, double capacity) {
    const auto [entry, added] = made.try_emplace({node, other});
    if (added) {
      what.node = node;
      what.part = fmt::format("flow-to-node{}", other);
      entry->second = all.engine.add_resource(what, capacity);
    }
    return entry->second.value;
  };
  const double work = stack_.host.cpu_overhead * interrupt_work(stack_.transport, network_.framing);
  for (const auto& [node, other] : {std::pair(from, to), std::pair(to, from)})
    uses.push_back(
        {resource(all.flow_cores, node, other, {sim::ResourceKind::flow_core, -1, {}}, 1.0), work});
  if (const auto& rate = fabric().flow_rate)
    uses.push_back(
        {resource(all.flows, from, to, {sim::ResourceKind::flow, -1, {}}, rate->value()), wire});
}

int Machine::layer_thread(int node, const Stack& stack, const ThreadWork& work) const
{
  NodeResources& all = *node_resources_;
  const std::string& layer = stack.transport.layers[work.layer].name;
  const int guest = serves_one_guest(stack, work) ? guest_ : 0;
  const auto [entry, added] = all.layer_threads.try_emplace({node, guest, layer});
  if (added)
    entry->second = all.engine.add_resource({sim::ResourceKind::layer_thread, node, layer}, 1.0);
  return entry->second.value;
}

std::function<int(int resource)> Machine::numbers_on(const std::vector<int>& nodes) const
{
  std::vector<int> firsts;
  for (const int node : nodes)
    firsts.push_back(at(node, 0).value);
  std::sort(firsts.begin(), firsts.end());
  return [firsts = std::move(firsts),
          count = static_cast<int>(node_resources_->list.size())](int resource) {
    const auto after = std::upper_bound(firsts.begin(), firsts.end(), resource);
    const int number = after == firsts.begin() ? count : resource - *std::prev(after);
    return number < count ? number : -1;
  };
}

Machine Machine::tenant(const Stack& stack, std::vector<sim::ResourceId> core_sets) const
{
  Machine view = *this;
  view.stack_ = stack;
  view.core_sets_ = std::move(core_sets);
  if (stack.host.isolation == Isolation::vm)
    view.guest_ = ++node_resources_->guests;
  view.choose_network();
  return view;
}

void Machine::choose_network()
{
  network_ = find_network(spec_, stack_.transport);
  if (nodes_ > 1 && network_.index < 0)
    spec_.origin.fail("has no network that '" + stack_.transport.name + "' can run on",
                      "its adapters: " + joined(adapter_names(spec_)));
  choose_nics();
  if (networked())
    local_framing_ = network_.framing;
  else if (const auto& local = stack_.transport.framing(LinkLayer::ethernet))
    local_framing_ = *local;
}

void Machine::list_node()
{
  using enum sim::ResourceKind;
  using enum sim::Direction;
  std::vector<NodeResources::Listed>& list = node_resources_->list;
  const auto add = [&](sim::ResourceKind kind, std::string part, double capacity,
                       sim::Direction direction = sim::Direction::none) {
    list.push_back({{kind, -1, std::move(part), direction}, capacity});
    return static_cast<int>(list.size()) - 1;
  };
  const auto both_ways = [&](sim::ResourceKind kind, const std::string& part, double capacity) {
    add(kind, part, capacity, out);
    add(kind, part, capacity, in);
  };
  const auto next = [&] { return static_cast<int>(list.size()); };
  const int gpus = graph_.gpus();
  const auto gpu_name = [](int gpu) { return fmt::format("gpu{}", gpu); };
  const auto each_gpu = [&](sim::ResourceKind kind, double capacity) {
    const int start = next();
    for (int g = 0; g < gpus; ++g)
      add(kind, gpu_name(g), capacity);
    return start;
  };
  compute_ = each_gpu(compute, 1.0);
  memory_ =
      each_gpu(device_memory, (spec_.gpu.memory_efficiency * spec_.gpu.memory_bandwidth).value());
  pcie_ = next();
  for (const Join& join : graph_.joins())
    both_ways(join.between_sockets ? socket_link : pcie,
              graph_.parts()[static_cast<std::size_t>(join.lower)].name,
              pcie_scale_ * join.capacity.value());
  root_ = next();
  root_of_join_.clear();
  for (const Join& join : graph_.joins()) {
    const auto& upper = graph_.parts()[static_cast<std::size_t>(join.upper)];
    const bool port = upper.kind == PartKind::socket && !join.between_sockets;
    root_of_join_.push_back(port ? next() : -1);
    if (port)
      add(root_port, graph_.parts()[static_cast<std::size_t>(join.lower)].name,
          pcie_scale_ * spec_.cpu.root_port_duplex.value() * join.capacity.value() /
              reference_pcie());
  }
  nvlink_ = next();
  const double brick = spec_.gpu.nvlink_brick.value();
  for (int a = 0; a < gpus; ++a)
    if (graph_.nvswitch()) {
      both_ways(nvlink, gpu_name(a), brick * spec_.gpu.nvlink_bricks);
    } else {
      for (int b = 0; b < gpus; ++b)
        add(nvlink, fmt::format("{}-{}", a, b), brick * graph_.bricks(a, b));
    }
  nic_ = next();
  for (std::size_t i = 0; i < spec_.nics.size(); ++i)
    both_ways(adapter, spec_.node.nics[i].name, spec_.nics[i].rate.value());
  dram_ = next();
  for (int s = 0; s < graph_.sockets(); ++s)
    add(dram, fmt::format("socket{}", s),
        spec_.cpu.memory_efficiency * spec_.cpu.memory_bandwidth.value());
  cores_ = add(cores, "", static_cast<double>(spec_.cpu.cores) * graph_.sockets());
}

int nodes_per_leaf(const PlatformSpec& spec, std::size_t network, int nodes)
{
  const int ports = spec.fabrics[network].ports;
  const int adapters = static_cast<int>(spec.networks[network].nics.size());
  return nodes * adapters > ports ? std::max(1, ports / 2 / adapters) : 0;
}

void Machine::build_fabric(sim::Engine& engine)
{
  for (std::size_t n = 0; n < spec_.networks.size(); ++n) {
    const Fabric& switches = spec_.fabrics[n];
    Leaves leaves;
    if (const int below = nodes_per_leaf(spec_, n, nodes_); below > 0) {
      leaves.nodes = below;
      // Half of a switch's ports go up; a node with more adapters than that has several above it.
      const int half = switches.ports / 2;
      const int adapters = static_cast<int>(spec_.networks[n].nics.size());
      const int uplink_ports = half * ((adapters + half - 1) / half);
      const double uplinks = uplink_ports * switches.port_rate.value() / switches.oversubscription;
      const std::string prefix = n == 0 ? "" : spec_.networks[n].nics.front() + "-";
      leaves.count = (nodes_ + leaves.nodes - 1) / leaves.nodes;
      for (int leaf = 0; leaf < leaves.count; ++leaf)
        for (const auto direction : {sim::Direction::out, sim::Direction::in}) {
          const auto id = engine.add_resource(
              {sim::ResourceKind::uplink, -1, fmt::format("{}leaf{}", prefix, leaf), direction},
              uplinks);
          if (leaves.first < 0)
            leaves.first = id.value;
        }
    }
    leaves_.push_back(leaves);
  }
}

std::optional<Machine::Leaf> Machine::leaf_above(sim::ResourceId uplink) const
{
  for (std::size_t n = 0; n < leaves_.size(); ++n)
    if (const Leaves& leaves = leaves_[n]; leaves.first >= 0 && uplink.value >= leaves.first &&
                                           uplink.value < leaves.first + 2 * leaves.count)
      return Leaf{n, (uplink.value - leaves.first) / 2 * leaves.nodes};
  return {};
}

std::vector<std::pair<sim::ResourceId, Bytes>> Machine::shaped() const
{
  std::vector<std::pair<sim::ResourceId, Bytes>> links;
  for (int node = 0; node < nodes_; ++node)
    for (const int nic : network_.nics)
      if (const Bytes burst = spec_.nics[static_cast<std::size_t>(nic)].burst; burst.value() > 0)
        for (const int direction : {0, 1}) // what one side sends at once, the other receives so
          links.emplace_back(at(node, nic_ + 2 * nic + direction), burst);
  return links;
}

bool Machine::staged(int a, int b) const
{
  if (graph_.bricks(a, b) > 0 && stack_.host.nvlink)
    return false;
  return !(spec_.node.peer_to_peer && stack_.host.peer_to_peer) ||
         graph_.classify(graph_.gpu(a), graph_.gpu(b)) == PathClass::sys;
}

// PCIe joins with their direction and the root ports they pass. Peer traffic (between devices, not
// to or from memory) that a host bridge forwards is cut into smaller packets: it takes more of
// every link behind the bridge.
void Machine::add_route(std::vector<sim::Use>& uses, int node, int from, int to) const
{
  const auto kind = [this](int part) {
    return graph_.parts()[static_cast<std::size_t>(part)].kind;
  };
  const bool peer = kind(from) != PartKind::socket && kind(to) != PartKind::socket;
  const bool redirected = spec_.node.pcie_acs || stack_.host.pcie_acs;
  double weight = 1;
  for (const Leg& leg : redirected ? graph_.redirected_route(from, to) : graph_.route(from, to)) {
    const Join& join = graph_.joins()[static_cast<std::size_t>(leg.join)];
    uses.push_back({at(node, pcie_ + 2 * leg.join + (leg.up ? 0 : 1)).value, weight});
    const int root = root_of_join_[static_cast<std::size_t>(leg.join)];
    if (root >= 0)
      uses.push_back({at(node, root).value, weight});
    if (peer && leg.up && kind(join.upper) == PartKind::socket)
      weight = 1 / payload_share(spec_.cpu.peer_packet, spec_.node.pcie_max_payload);
  }
}

void Machine::add_dram(std::vector<sim::Use>& uses, int node, int gpu) const
{
  uses.push_back({at(node, dram_ + graph_.socket_of(graph_.gpu(gpu))).value, 1.0});
}

sim::PathPtr Machine::host_to_device(GpuPlace gpu, bool pinned) const
{
  std::vector<sim::Use> uses;
  const int part = graph_.gpu(gpu.local);
  add_route(uses, gpu.node, graph_.socket(graph_.socket_of(part)), part);
  add_dram(uses, gpu.node, gpu.local);
  const Seconds latency = spec_.gpu.copy_latency + spec_.gpu.host_hop_latency;
  if (pinned)
    return sim::make_path(uses, latency);
  uses.push_back({dram(gpu.node, graph_.socket_of(part)).value, 2.0}); // read and written once more
  const double core =
      stack_.host.cpu_overhead * stack_.host.pageable_copies / spec_.cpu.copy_rate.value();
  add_core_work(uses, gpu.node, core);
  return sim::make_path(uses, latency, 1 / core);
}

sim::PathPtr Machine::compute_path(GpuPlace gpu, double host_threads) const
{
  const double threads = spec_.gpu.on_host() ? spec_.gpu.host_cores : host_threads;
  if (threads <= 0)
    return sim::make_path({{compute(gpu).value, 1.0}}, {}, 1.0);
  return sim::make_path({{compute(gpu).value, 1.0}}, {}, 1.0,
                        thread_work(gpu.node, threads, std::max(1.0, threads)));
}

sim::Held Machine::thread_work(int node, double core_seconds, double threads) const
{
  sim::Held held;
  held.uses = {{cores(node).value, core_seconds}};
  if (!core_sets_.empty())
    held.uses.push_back({core_sets_[static_cast<std::size_t>(node)].value, core_seconds});
  held.priority = kThreadPriority * threads / core_seconds;
  return held;
}

void Machine::add_core_work(std::vector<sim::Use>& uses, int node, double core_seconds) const
{
  uses.push_back({cores(node).value, core_seconds});
  if (!core_sets_.empty() && stack_.host.isolation == Isolation::vm)
    uses.push_back({core_sets_[static_cast<std::size_t>(node)].value, core_seconds});
}

void Machine::add_received(std::vector<sim::Use>& uses, int node, int nic, double wire,
                           double dram_passes) const
{
  const int part = graph_.nic(nic);
  const int socket = graph_.socket_of(part);
  uses.push_back({at(node, nic_ + 2 * nic + 1).value, wire});
  add_route(uses, node, part, graph_.socket(socket));
  uses.push_back({dram(node, socket).value, dram_passes});
}

void Machine::add_sent(std::vector<sim::Use>& uses, int node, int nic, double wire,
                       double dram_passes) const
{
  const int part = graph_.nic(nic);
  const int socket = graph_.socket_of(part);
  uses.push_back({at(node, nic_ + 2 * nic).value, wire});
  add_route(uses, node, graph_.socket(socket), part);
  uses.push_back({dram(node, socket).value, dram_passes});
}

sim::PathPtr Machine::device_to_host(GpuPlace gpu) const
{
  std::vector<sim::Use> uses;
  const int part = graph_.gpu(gpu.local);
  add_route(uses, gpu.node, part, graph_.socket(graph_.socket_of(part)));
  add_dram(uses, gpu.node, gpu.local);
  return sim::make_path(uses, spec_.gpu.copy_latency + spec_.gpu.host_hop_latency);
}

sim::PathPtr Machine::device_copy(GpuPlace gpu) const
{
  return sim::make_path({{at(gpu.node, memory_ + gpu.local).value, 2.0}}, spec_.gpu.copy_latency);
}

sim::PathPtr Machine::peer_copy(int node, int a, int b, bool peer_access) const
{
  std::vector<sim::Use> uses;
  const Gpu& gpu = spec_.gpu;
  const bool nvlink = graph_.bricks(a, b) > 0 && stack_.host.nvlink;
  if (peer_access && (nvlink || !staged(a, b))) {
    if (nvlink)
      return sim::make_path(hop({node, a}, {node, b}, Mover::copy_engine).uses,
                            gpu.copy_latency + gpu.peer_latency);
    add_route(uses, node, graph_.gpu(a), graph_.gpu(b));
    return sim::make_path(uses, gpu.copy_latency + gpu.peer_latency);
  }
  add_route(uses, node, graph_.gpu(a), graph_.socket(graph_.socket_of(graph_.gpu(a))));
  add_route(uses, node, graph_.socket(graph_.socket_of(graph_.gpu(a))), graph_.gpu(b));
  add_dram(uses, node, a);
  add_dram(uses, node, b);
  return sim::make_path(uses, gpu.copy_latency + 2 * gpu.host_hop_latency);
}

} // namespace foretrain::platforms
