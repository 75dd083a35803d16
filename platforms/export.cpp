// A platform for other tools: SimGrid XML and Graphviz.
#include "platforms/show.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

std::string escaped(const std::string& text)
{
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

} // namespace

// One host per GPU. Every GPU reaches the others of its node over a link of its own kind, and other
// nodes over the adapter: links as SimGrid needs them, without what only Foretrain can express.
std::string to_simgrid_xml(const PlatformSpec& spec, int nodes)
{
  sim::Engine engine;
  Stack stack;
  stack.host.name = "bare metal";
  stack.transport.name = "raw";
  const bool rdma =
      std::any_of(spec.nics.begin(), spec.nics.end(), [](const Nic& nic) { return nic.rdma; });
  stack.transport.protocol =
      rdma ? NetworkProtocol::rdma
           : NetworkProtocol::tcp; // no costs are given: only the route matters
  stack.transport.ethernet = stack.transport.infiniband = Framing{};
  const Machine machine(engine, spec, stack, nodes);
  std::string xml = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                    "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
                    "  <zone id=\"" +
                    escaped(spec.name) + "\" routing=\"Full\">\n";
  const int per_node = spec.gpus_per_node();
  const double flops = spec.gpu.fp32 ? spec.gpu.fp32->peak.value() : 1.0;
  for (int node = 0; node < nodes; ++node)
    for (int g = 0; g < per_node; ++g)
      xml += fmt::format("    <host id=\"node{}/gpu{}\" speed=\"{:.6g}f\"/>\n", node, g, flops);
  for (int r = 0; r < engine.resource_count(); ++r) {
    const sim::ResourceKind kind = engine.kind({r});
    if (kind == sim::ResourceKind::compute || kind == sim::ResourceKind::cores ||
        engine.capacity({r}) <= 0)
      continue;
    xml += fmt::format("    <link id=\"{}\" bandwidth=\"{:.6g}Bps\" latency=\"0s\"/>\n",
                       escaped(engine.name({r})), engine.capacity({r}));
  }
  const int gpus = nodes * per_node;
  for (int a = 0; a < gpus; ++a)
    for (int b = 0; b < gpus; ++b) {
      if (a == b || (a / per_node != b / per_node && !machine.networked()))
        continue;
      const GpuPlace from{a / per_node, a % per_node};
      const GpuPlace to{b / per_node, b % per_node};
      xml += fmt::format("    <route src=\"node{}/gpu{}\" dst=\"node{}/gpu{}\" symmetrical=\"NO\">",
                         from.node, from.local, to.node, to.local);
      for (const sim::Use& use : machine.hop(from, to, Mover::copy_engine).uses)
        if (engine.capacity({use.resource}) > 0 && !engine.name({use.resource}).ends_with("/cores"))
          xml += fmt::format("<link_ctn id=\"{}\"/>", escaped(engine.name({use.resource})));
      xml += "</route>\n";
    }
  return xml + "  </zone>\n</platform>\n";
}

std::string to_graphviz(const PlatformSpec& spec)
{
  const NodeGraph graph(spec);
  std::string dot = fmt::format("graph \"{}\" {{\n  node [fontname=\"sans-serif\"];\n", spec.name);
  for (const Part& part : graph.parts()) {
    const char* shape = part.kind == PartKind::gpu           ? "box"
                        : part.kind == PartKind::socket      ? "doubleoctagon"
                        : part.kind == PartKind::pcie_switch ? "diamond"
                                                             : "ellipse";
    dot += fmt::format("  \"{}\" [shape={}];\n", part.name, shape);
  }
  const auto name = [&](int part) { return graph.parts()[static_cast<std::size_t>(part)].name; };
  for (const Join& join : graph.joins())
    dot += fmt::format("  \"{}\" -- \"{}\" [label=\"{}\"];\n", name(join.lower), name(join.upper),
                       to_text(join.capacity));
  if (graph.nvswitch())
    dot += "  \"nvswitch\" [shape=diamond];\n";
  for (int a = 0; a < graph.gpus(); ++a) {
    if (graph.nvswitch())
      dot += fmt::format("  \"gpu{}\" -- \"nvswitch\" [label=\"{} x {}\", color=green];\n", a,
                         spec.gpu.nvlink_bricks, to_text(spec.gpu.nvlink_brick));
    else
      for (int b = a + 1; b < graph.gpus(); ++b)
        if (graph.bricks(a, b) > 0)
          dot += fmt::format("  \"gpu{}\" -- \"gpu{}\" [label=\"{} x {}\", color=green];\n", a, b,
                             graph.bricks(a, b), to_text(spec.gpu.nvlink_brick));
  }
  return dot + "}\n";
}

} // namespace foretrain::platforms
