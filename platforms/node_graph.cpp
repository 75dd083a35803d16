#include "platforms/node_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

namespace foretrain::platforms {

namespace {
constexpr double kPacketOverhead =
    26; // bytes: 16 header + 8 framing, sequence, CRC + 2 flow control
}

BytesPerSecond gpu_link(const PlatformSpec& platform)
{
  const Gpu& gpu = platform.gpu;
  return std::max(gpu.host_link, pcie_bandwidth(gpu.pcie_generation, gpu.pcie_lanes,
                                                platform.node.pcie_max_payload));
}

BytesPerSecond pcie_bandwidth(int generation, int lanes, Bytes max_payload)
{
  static constexpr double kTransfers[] = {0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  const double coding = generation <= 2 ? 0.8 : 128.0 / 130.0;
  const double payload_share = max_payload.value() / (max_payload.value() + kPacketOverhead);
  return BytesPerSecond(kTransfers[generation] / 8 * coding * lanes * payload_share);
}

const char* short_name(PathClass path)
{
  switch (path) {
  case PathClass::self:
    return "X";
  case PathClass::nvlink:
    return "NV";
  case PathClass::pix:
    return "PIX";
  case PathClass::pxb:
    return "PXB";
  case PathClass::phb:
    return "PHB";
  case PathClass::sys:
    return "SYS";
  }
  return "?";
}

int NodeGraph::add(PartKind kind, const std::string& name, int number)
{
  parts_.push_back({kind, name, number});
  return static_cast<int>(parts_.size()) - 1;
}

int NodeGraph::find(const std::string& name) const
{
  const auto it =
      std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.name == name; });
  if (it == parts_.end())
    throw std::logic_error("no part named " + name);
  return static_cast<int>(it - parts_.begin());
}

void NodeGraph::join(int lower, int upper, BytesPerSecond capacity, bool between_sockets)
{
  joins_.push_back({lower, upper, capacity, between_sockets});
}

NodeGraph::NodeGraph(const PlatformSpec& spec)
{
  const NodeSpec& node = spec.node;
  const Bytes payload = node.pcie_max_payload;
  for (int s = 0; s < node.sockets; ++s) {
    sockets_.push_back(add(PartKind::socket, "socket" + std::to_string(s), s));
    for (int t = 0; t < s; ++t)
      join(sockets_.back(), sockets_[static_cast<std::size_t>(t)], spec.cpu.socket_link, true);
  }
  int number = 0;
  for (const auto& it : node.pcie_switches) {
    const int upper = find(it.on);
    join(add(PartKind::pcie_switch, it.name, number++), upper,
         pcie_bandwidth(it.generation, it.lanes, payload));
  }
  const int n = spec.gpus_per_node();
  for (int g = 0; g < n; ++g) {
    const int upper = find(node.gpus->on[static_cast<std::size_t>(g)]);
    gpus_.push_back(add(PartKind::gpu, "gpu" + std::to_string(g), g));
    const bool at_socket = parts_[static_cast<std::size_t>(upper)].kind == PartKind::socket;
    const BytesPerSecond pcie =
        pcie_bandwidth(spec.gpu.pcie_generation, spec.gpu.pcie_lanes, payload);
    join(gpus_.back(), upper, at_socket ? std::max(pcie, spec.gpu.host_link) : pcie);
    if (!at_socket && spec.gpu.host_link.value() > 0)
      join(gpus_.back(), socket(socket_of(gpus_.back())), spec.gpu.host_link);
  }
  for (std::size_t i = 0; i < node.nics.size(); ++i) {
    const int upper = find(node.nics[i].on);
    nics_.push_back(add(PartKind::nic, node.nics[i].name, static_cast<int>(i)));
    join(nics_.back(), upper,
         pcie_bandwidth(spec.nics[i].pcie_generation, spec.nics[i].pcie_lanes, payload));
  }
  for (std::size_t i = 0; i < node.disks.size(); ++i) {
    const int upper = find(node.disks[i].on);
    disks_.push_back(add(PartKind::disk, node.disks[i].name, static_cast<int>(i)));
    join(disks_.back(), upper, std::max(spec.disks[i].read, spec.disks[i].write));
  }
  nvswitch_ = node.nvlink.nvswitch;
  bricks_.assign(static_cast<std::size_t>(n * n), 0);
  const auto brick = [&](int a, int b) -> int& {
    return bricks_[static_cast<std::size_t>(a * n + b)];
  };
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      if (a != b)
        brick(a, b) = nvswitch_ ? spec.gpu.nvlink_bricks : node.nvlink.all_pairs;
  for (const auto& pair : node.nvlink.pairs) {
    brick(pair[0], pair[1]) += pair[2];
    brick(pair[1], pair[0]) += pair[2];
  }
  compute_routes();
}

int NodeGraph::bricks(int a, int b) const
{
  return bricks_[static_cast<std::size_t>(a * gpus() + b)];
}

void NodeGraph::compute_routes()
{
  using Graph =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                            boost::property<boost::edge_weight_t, double>>;
  Graph graph(parts_.size());
  for (const Join& it : joins_)
    boost::add_edge(static_cast<std::size_t>(it.lower), static_cast<std::size_t>(it.upper),
                    it.between_sockets ? 10.0 : 1.0, graph);
  const std::size_t n = parts_.size();
  std::vector<int> between(n * n, -1); // the first join of two parts
  for (std::size_t j = joins_.size(); j-- > 0;) {
    const auto lower = static_cast<std::size_t>(joins_[j].lower);
    const auto upper = static_cast<std::size_t>(joins_[j].upper);
    between[lower * n + upper] = between[upper * n + lower] = static_cast<int>(j);
  }
  for (std::size_t from = 0; from < n; ++from) {
    std::vector<std::size_t> previous(n);
    boost::dijkstra_shortest_paths(graph, from, boost::predecessor_map(previous.data()));
    std::vector<int> joins(n, -1);
    for (std::size_t part = 0; part < n; ++part)
      if (part != from)
        joins[part] = between[previous[part] * n + part];
    previous_.push_back(std::move(joins));
  }
}

std::vector<Leg> NodeGraph::route(int from, int to) const
{
  std::vector<Leg> legs;
  for (int at = to; at != from;) {
    const int j = previous_[static_cast<std::size_t>(from)][static_cast<std::size_t>(at)];
    if (j < 0)
      throw std::logic_error("no route from " + parts_[static_cast<std::size_t>(from)].name);
    const Join& it = joins_[static_cast<std::size_t>(j)];
    const bool up = it.upper == at; // we arrive at the upper end
    legs.push_back({j, up});
    at = up ? it.lower : it.upper;
  }
  std::reverse(legs.begin(), legs.end());
  return legs;
}

std::vector<Leg> NodeGraph::redirected_route(int from, int to) const
{
  std::vector<Leg> legs = route(from, to);
  const auto turn = std::find_if(legs.begin(), legs.end(), [](const Leg& leg) { return !leg.up; });
  if (turn == legs.begin() || turn == legs.end())
    return legs; // between a device and what it hangs on
  const int highest = joins_[static_cast<std::size_t>(turn->join)].upper;
  std::vector<Leg> detour = route(highest, socket(socket_of(highest)));
  const std::size_t climbed = detour.size();
  for (std::size_t i = climbed; i-- > 0;)
    detour.push_back({detour[i].join, false});
  legs.insert(turn, detour.begin(), detour.end());
  return legs;
}

int NodeGraph::socket_of(int part) const
{
  while (parts_[static_cast<std::size_t>(part)].kind != PartKind::socket) {
    const auto it = std::find_if(joins_.begin(), joins_.end(), [part](const Join& j) {
      return j.lower == part && !j.between_sockets;
    });
    part = it->upper;
  }
  return parts_[static_cast<std::size_t>(part)].number;
}

PathClass NodeGraph::classify(int from, int to) const
{
  if (from == to)
    return PathClass::self;
  const Part& a = parts_[static_cast<std::size_t>(from)];
  const Part& b = parts_[static_cast<std::size_t>(to)];
  if (a.kind == PartKind::gpu && b.kind == PartKind::gpu && bricks(a.number, b.number) > 0)
    return PathClass::nvlink;
  int switches = 0;
  bool socket = a.kind == PartKind::socket || b.kind == PartKind::socket;
  for (const Leg& leg : route(from, to)) {
    const Join& it = joins_[static_cast<std::size_t>(leg.join)];
    if (it.between_sockets)
      return PathClass::sys;
    const int reached = leg.up ? it.upper : it.lower;
    socket |= parts_[static_cast<std::size_t>(reached)].kind == PartKind::socket;
    switches += parts_[static_cast<std::size_t>(reached)].kind == PartKind::pcie_switch ? 1 : 0;
  }
  if (socket)
    return PathClass::phb;
  return switches <= 1 ? PathClass::pix : PathClass::pxb;
}

} // namespace foretrain::platforms
