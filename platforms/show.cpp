#include "platforms/show.hpp"

#include "platforms/idle_copies.hpp"
#include "platforms/link_tables.hpp"
#include "platforms/link_words.hpp"
#include "platforms/rings.hpp"

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

std::string matrix(const std::vector<std::vector<double>>& values, const char* title)
{
  std::string text = fmt::format("{}\n{:>6}", title, "");
  for (std::size_t j = 0; j < values.size(); ++j)
    text += fmt::format("{:>9}", "GPU" + std::to_string(j));
  text += "\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{:>6}", "GPU" + std::to_string(i));
    for (const double value : values[i])
      text += fmt::format("{:>9.2f}", value);
    text += "\n";
  }
  return text;
}

} // namespace

PeerMatrix peer_matrix(const PlatformSpec& spec, const Stack& stack, bool peer_access)
{
  const int n = spec.gpus_per_node();
  const std::vector<double> row(static_cast<std::size_t>(n), 0.0);
  const std::vector<std::vector<double>> empty(static_cast<std::size_t>(n), row);
  PeerMatrix result{empty, empty, empty};
  sim::Engine engine;
  const Machine machine(engine, spec, stack, 1);
  IdleCopies copies(engine);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      const auto i = static_cast<std::size_t>(a);
      const auto j = static_cast<std::size_t>(b);
      const auto copy = [&](int from, int to) {
        return from == to ? machine.device_copy({0, from})
                          : machine.peer_copy(0, from, to, peer_access);
      };
      const double counted = a == b ? 2 : 1; // read and written
      const sim::PathPtr path = copy(a, b);
      result.latency[i][j] = path->latency.value() * 1e6;
      result.one_way[i][j] = counted * copies.rate({path}) / 1e9;
      result.both_ways[i][j] = counted * copies.rate({path, copy(b, a)}) / 1e9;
    }
  return result;
}

std::string topology_matrix(const PlatformSpec& spec)
{
  const NodeGraph graph(spec);
  std::vector<int> columns;
  std::vector<std::string> names;
  for (int g = 0; g < graph.gpus(); ++g) {
    columns.push_back(graph.gpu(g));
    names.push_back("GPU" + std::to_string(g));
  }
  for (int n = 0; n < graph.nics(); ++n) {
    columns.push_back(graph.nic(n));
    names.push_back(spec.node.nics[static_cast<std::size_t>(n)].name);
  }
  std::string text = fmt::format("{:>6}", "");
  for (const auto& name : names)
    text += fmt::format("{:>7}", name);
  text += fmt::format("{:>9}\n", "socket");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += fmt::format("{:>6}", names[i]);
    for (const int column : columns) {
      const PathClass path = graph.classify(columns[i], column);
      const auto& from = graph.parts()[static_cast<std::size_t>(columns[i])];
      const auto& to = graph.parts()[static_cast<std::size_t>(column)];
      const std::string links = spec.gpu.vendor == sim::GpuVendor::amd
                                    ? "XGMI" // as rocm-smi has it
                                    : fmt::format("NV{}", graph.bricks(from.number, to.number));
      text += fmt::format("{:>7}", path == PathClass::nvlink ? links : short_name(path));
    }
    text += fmt::format("{:>9}\n", graph.socket_of(columns[i]));
  }
  return text;
}

std::string peer_table(const PlatformSpec& spec, const Stack& stack, bool peer_access)
{
  const PeerMatrix m = peer_matrix(spec, stack, peer_access);
  const char* how = peer_access ? "with peer access" : "without peer access";
  return matrix(m.one_way, fmt::format("one way, {}, GB/s", how).c_str()) +
         matrix(m.both_ways, fmt::format("both ways together, {}, GB/s", how).c_str()) +
         matrix(m.latency, fmt::format("latency, {}, us", how).c_str());
}

std::string rings_text(const PlatformSpec& spec, const Stack& stack, int gpus)
{
  sim::Engine engine;
  const int per_node = spec.gpus_per_node();
  const int nodes = (gpus + per_node - 1) / per_node;
  const Machine machine(engine, spec, stack, nodes);
  std::vector<GpuPlace> ranks;
  for (int g = 0; g < gpus; ++g)
    ranks.push_back({g / per_node, g % per_node});
  const auto comm = make_communicator(machine, ranks, "rings");
  const std::string link = link_words("NVLink", spec.gpu.vendor);
  std::string text =
      fmt::format("{} GPUs on {} nodes: {} channels\n", gpus, nodes, comm.channels.size());
  for (std::size_t c = 0; c < comm.channels.size(); ++c) {
    text += fmt::format("  channel {}:", c);
    for (const auto& hop : comm.channels[c].hops) {
      const auto& place = ranks[static_cast<std::size_t>(hop.from)];
      const std::string how = hop.reach == sim::Reach::nvlink ? link
                              : hop.reach == sim::Reach::pcie ? "PCIe"
                                                              : "network";
      text += nodes > 1 ? fmt::format(" {}.{} -{}->", place.node, place.local, how)
                        : fmt::format(" {} -{}->", place.local, how);
    }
    text += " back\n";
  }
  return text;
}

namespace {

std::string graph_text(const char* name, const CollectiveGraph& graph, bool between)
{
  if (graph.channels == 0)
    return "";
  std::string text = fmt::format(
      "  {}: {} channels of {:g} GB/s inside{}, {:g} GB/s in all; over {}{}\n", name,
      graph.channels, graph.bandwidth_inside,
      between ? fmt::format(" and {:g} GB/s between nodes", graph.bandwidth_between) : "",
      graph.channels * graph.bandwidth_inside, short_name(graph.reach_inside),
      between ? fmt::format(", adapters over {}", short_name(graph.reach_between)) : "");
  for (std::size_t c = 0; c < graph.orders.size(); ++c) {
    text += fmt::format("    {:2d}:", c);
    if (graph.nics[c][0] >= 0)
      text += fmt::format(" nic{} ->", graph.nics[c][0]);
    for (const int gpu : graph.orders[c])
      text += fmt::format(" {}", gpu);
    if (graph.nics[c][1] >= 0)
      text += fmt::format(" -> nic{}", graph.nics[c][1]);
    text += "\n";
  }
  return text;
}

} // namespace

std::string graphs_text(const PlatformSpec& spec, const Stack& stack, int gpus, int nodes,
                        const SearchRules& rules)
{
  sim::Engine engine;
  const Machine machine(engine, spec, stack, nodes);
  // To the library a container is a machine.
  const bool apart = stack.host.container_per_gpu && gpus > 1;
  std::vector<std::vector<int>> machines(apart ? static_cast<std::size_t>(gpus) : 1);
  for (int g = 0; g < gpus; ++g)
    machines[apart ? static_cast<std::size_t>(g) : 0].push_back(g);
  const bool between = nodes > 1 || apart;
  std::string text = fmt::format(
      "{} GPUs on each of {} node(s){}, as {} {}.{} assumes links to be\n", gpus, nodes,
      apart ? ", each in a container of its own: a machine of one GPU" : "",
      rules.tables ? "RCCL" : "NCCL", rules.version / (rules.version < 10000 ? 1000 : 10000),
      rules.version / 100 % (rules.version < 10000 ? 10 : 100));
  for (const std::vector<int>& local : machines) {
    const CollectiveGraphs graphs = graphs_of(machine, local, between, rules);
    text += graph_text("rings", graphs.ring, between) +
            graph_text(rules.own_trees() ? "trees (chains inside)"
                                         : "chains, not used: trees take the rings' order",
                       graphs.tree, between) +
            graph_text(between ? "in-switch reduction, tree between nodes" : "in-switch reduction",
                       graphs.in_switch, between);
  }
  return text;
}

std::string platform_text(const PlatformSpec& spec, const Stack& stack)
{
  std::string text =
      fmt::format("{}\n  {}\n  {} x {} ({} cores each), {}\n", spec.name, spec.description,
                  spec.node.sockets, spec.cpu.name, spec.cpu.cores, to_text(spec.node.memory));
  if (spec.gpus_per_node() > 0)
    text += fmt::format("  {} x {}, {} at {}\n", spec.gpus_per_node(), spec.gpu.name,
                        to_text(spec.gpu.memory), to_text(spec.gpu.memory_bandwidth));
  for (std::size_t i = 0; i < spec.nics.size(); ++i)
    text += fmt::format("  {}: {} ({}{})\n", spec.node.nics[i].name, spec.nics[i].name,
                        to_text(spec.nics[i].rate), spec.nics[i].rdma ? ", RDMA" : "");
  for (std::size_t i = 0; i < spec.disks.size(); ++i) {
    const int count = spec.node.disks[i].count;
    text += fmt::format("  {}: {}{}\n", spec.node.disks[i].name,
                        count > 1 ? fmt::format("{} x ", count) : "", spec.disks[i].name);
  }
  text += fmt::format("  up to {} nodes", spec.max_nodes);
  for (const auto& fabric : spec.fabrics)
    text += fmt::format(", {}", fabric.name);
  text += "\n\n";
  if (spec.gpus_per_node() == 0)
    return text + connections_text(spec, stack);
  text += topology_matrix(spec) + "\n";
  text += peer_table(spec, stack, true) + peer_table(spec, stack, false);
  text += host_copies_text(spec, stack) + connections_text(spec, stack) + "\n";
  if (spec.gpus_per_node() > 1)
    text += fmt::format("bisection of a node: {} one way\n", to_text(node_bisection(spec)));
  for (const int nodes : {2, spec.max_nodes})
    if (nodes > 1 && nodes <= spec.max_nodes)
      text += fmt::format("bisection of {} nodes: {} one way\n", nodes,
                          to_text(cluster_bisection(spec, nodes)));
  return text;
}

} // namespace foretrain::platforms
