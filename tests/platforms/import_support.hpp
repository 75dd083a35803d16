// Files of real machines' formats, written from platforms we know.
#pragma once

#include "platforms/import.hpp"
#include "platforms/node_graph.hpp"
#include "sim/base/error.hpp"

#include <fstream>
#include <functional>
#include <sstream>

#include <fmt/format.h>

namespace foretrain::test {

using namespace platforms;

inline std::string fixture(const std::string& name)
{
  std::ifstream in(data_root() / "tests/platforms/data" / name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline PlatformSpec loaded(const ImportedPlatform& imported)
{
  const auto document = parse_document(imported.json.dump(2), "imported");
  return load_platform(Value(std::shared_ptr<const Document>(document)));
}

/// What the import of `text` says is wrong, or "no error".
inline std::string import_error(const std::string& text, const ImportOptions& options = {})
{
  try {
    import_platform(text, "file", options);
  } catch (const ConfigError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  }
  return "no error";
}

/// NCCL topology XML of a platform's node.
inline std::string as_nccl_xml(const PlatformSpec& spec)
{
  int bus = 1;
  const auto pci = [&bus](const char* pci_class, const std::string& inside) {
    return fmt::format("<pci busid=\"0000:{:02x}:00.0\" class=\"{}\">\n{}</pci>\n", bus++,
                       pci_class, inside);
  };
  const NodeGraph graph(spec);
  const auto gpu_bus = [](int gpu) { return fmt::format("0001:{:02x}:00.0", gpu); };
  const std::function<std::string(const std::string&)> below = [&](const std::string& place) {
    std::string text;
    for (int g = 0; g < graph.gpus(); ++g) {
      if (spec.node.gpus->on[static_cast<std::size_t>(g)] != place)
        continue;
      std::string links;
      for (int other = 0; other < graph.gpus() && !graph.nvswitch(); ++other)
        if (other != g && graph.bricks(g, other) > 0)
          links += fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"0x030200\"/>\n",
                               gpu_bus(other), graph.bricks(g, other));
      if (graph.nvswitch())
        links = fmt::format("<nvlink target=\"0000:f0:00.0\" count=\"{}\" tclass=\"0x068000\"/>\n",
                            spec.gpu.nvlink_bricks);
      text += fmt::format("<pci busid=\"{}\" class=\"0x030200\"><gpu dev=\"{}\" sm=\"70\">{}</gpu>"
                          "</pci>\n",
                          gpu_bus(g), g, links);
    }
    for (std::size_t i = 0; i < spec.node.nics.size(); ++i)
      if (spec.node.nics[i].on == place)
        text += pci(spec.nics[i].link == LinkLayer::infiniband ? "0x020700" : "0x020000",
                    fmt::format("<nic><net name=\"{}\" dev=\"{}\" speed=\"{:.0f}\"/></nic>",
                                spec.node.nics[i].name, i, spec.nics[i].rate.value() * 8 / 1e6));
    for (const auto& it : spec.node.pcie_switches)
      if (it.on == place)
        text += pci("0x060400", below(it.name));
    return text;
  };
  std::string text = "<system version=\"1\">\n";
  for (int s = 0; s < spec.node.sockets; ++s)
    text += fmt::format("<cpu numaid=\"{}\">{}</cpu>\n", s, below(fmt::format("socket{}", s)));
  return text + "</system>\n";
}

/// `nvidia-smi topo -m` of a platform's node.
inline std::string as_topo_matrix(const PlatformSpec& spec)
{
  const NodeGraph graph(spec);
  std::vector<int> parts;
  std::vector<std::string> names;
  for (int g = 0; g < graph.gpus(); ++g) {
    parts.push_back(graph.gpu(g));
    names.push_back(fmt::format("GPU{}", g));
  }
  for (int i = 0; i < graph.nics(); ++i) {
    parts.push_back(graph.nic(i));
    names.push_back(spec.node.nics[static_cast<std::size_t>(i)].name);
  }
  std::string text;
  for (const auto& name : names)
    text += "\t" + name;
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t a = 0; a < parts.size(); ++a) {
    text += names[a];
    for (const int b : parts) {
      const PathClass path = graph.classify(parts[a], b);
      text += fmt::format("\t{}", short_name(path));
      if (path == PathClass::nvlink)
        text += std::to_string(
            graph.bricks(static_cast<int>(a), graph.parts()[static_cast<std::size_t>(b)].number));
    }
    if (a < static_cast<std::size_t>(graph.gpus()))
      text += fmt::format("\t{0}-{0}\t{0}", graph.socket_of(parts[a]));
    text += "\n";
  }
  return text;
}

} // namespace foretrain::test
