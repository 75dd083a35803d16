// NCCL topology XML, version 1, as NCCL_TOPO_DUMP_FILE writes it and NCCL_TOPO_FILE takes it.
//
// <system><cpu numaid affinity vendor familyid modelid> holds nested <pci busid class link_speed
// link_width>; a leaf holds <gpu dev sm> with <nvlink target count tclass>, or <nic> with
// <net name speed>. Classes: PCI ID database (0x0604 bridge, 0x0302 and 0x0300 GPU, 0x0207
// InfiniBand, 0x0200 Ethernet, 0x0680 NVSwitch). NCCL source, src/graph/xml.cc and topo.cc.
#include "platforms/import_xml.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

using Node = pugi::xml_node;

struct NvlinkTarget {
  std::string bus;
  int count;
  Node where;
};

struct GpuEntry {
  FoundGpu gpu;
  std::string bus;
  std::optional<long> dev;
  long order = 0;
  std::vector<NvlinkTarget> links;
  Node where;
};

class Importer {
public:
  Importer(const XmlFile& xml, FoundNode& found) : xml_(xml), found_(found) {}

  void system(const Node& root, int numa_per_socket)
  {
    if (std::string(root.name()) != "system")
      xml_.fail(root, "<" + excerpt(root.name()) + "> is not the root of an NCCL topology",
                "it starts with <system version=\"1\">");
    if (const std::string version = root.attribute("version").value(); version != "1")
      xml_.fail(root, "<system> must have version=\"1\", got '" + excerpt(version) + "'");
    std::vector<Node> cpus;
    for (const Node& child : xml_.elements(root)) {
      if (std::string(child.name()) == "cpu")
        cpus.push_back(child);
      else
        unknown(child);
    }
    if (cpus.empty())
      xml_.fail(root, "<system> holds no <cpu>");
    sockets(cpus, numa_per_socket);
    gpus();
  }

private:
  void unknown(const Node& node)
  {
    found_.notes.insert("element <" + excerpt(node.name()) +
                        "> is not understood and was left out");
  }

  void sockets(const std::vector<Node>& cpus, int numa_per_socket)
  {
    std::set<std::string> hosts;
    std::set<int> numas;
    std::vector<int> group; // of each cpu: what becomes one socket
    for (const Node& cpu : cpus) {
      hosts.insert(cpu.attribute("host_hash").value());
      const int numa = xml_.whole(cpu, "numaid", -1, 4095).value_or(-1);
      if (numa >= 0 && !numas.insert(numa).second && hosts.size() == 1)
        xml_.fail(cpu, fmt::format("numaid {} appears twice", numa));
      if (numa < 0 && numa_per_socket > 1)
        xml_.fail(cpu, "has no NUMA number, so NUMA nodes cannot be grouped into sockets",
                  "leave out --numa-per-socket");
      group.push_back(numa < 0 ? 4096 + static_cast<int>(group.size()) : numa / numa_per_socket);
    }
    if (hosts.size() > 1)
      xml_.fail(cpus.back(), fmt::format("the file describes {} hosts", hosts.size()),
                "dump the topology of a job on one node");
    std::vector<int> order = group;
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    if (static_cast<int>(order.size()) > kMostSockets)
      xml_.fail(cpus.back(),
                fmt::format("{} NUMA nodes are more than the {} sockets a platform can have",
                            order.size(), kMostSockets),
                "--numa-per-socket joins NUMA nodes of one socket");
    found_.sockets.resize(order.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      const auto socket = static_cast<std::size_t>(
          std::lower_bound(order.begin(), order.end(), group[i]) - order.begin());
      cpu(cpus[i], found_.sockets[socket]);
      for (const Node& child : xml_.elements(cpus[i]))
        device(child, fmt::format("socket{}", socket), 0);
    }
    if (cpus.size() > 2 && numa_per_socket == 1)
      found_.notes.insert(fmt::format(
          "{} NUMA nodes were taken as {} sockets; if several belong to one socket, give "
          "--numa-per-socket",
          cpus.size(), order.size()));
  }

  void cpu(const Node& node, FoundSocket& socket)
  {
    socket.numa = xml_.whole(node, "numaid", -1, 4095).value_or(-1);
    socket.vendor = node.attribute("vendor").value();
    socket.family = xml_.whole(node, "familyid", -1, 1 << 20).value_or(0);
    socket.model = xml_.whole(node, "modelid", -1, 1 << 20).value_or(0);
    for (const char c : std::string(node.attribute("affinity").value())) {
      if (c == ',')
        continue;
      const auto digit = hex_digit(c);
      if (!digit)
        xml_.fail(node, "affinity must be hexadecimal digits and commas, got '" +
                            excerpt(node.attribute("affinity").value()) + "'");
      for (int bit = *digit; bit != 0; bit >>= 1)
        socket.logical_cpus += bit & 1;
    }
  }

  // What hangs on a socket or bridge.
  void device(const Node& node, const std::string& on, int depth)
  {
    const std::string name = node.name();
    if (name == "nic") {
      nic(node, on, {}, {}); // virtual adapters have no PCI entry
      return;
    }
    if (name != "pci") {
      unknown(node);
      return;
    }
    if (depth > 16)
      xml_.fail(node, "PCI bridges are nested deeper than 16");
    const std::string bus = node.attribute("busid").value();
    if (!is_bus_id(bus))
      xml_.fail(node, "busid must look like 0000:1a:00.0, got '" + excerpt(bus) + "'");
    if (!buses_.insert(bus).second)
      xml_.fail(node, "busid " + bus + " appears twice");
    const int pci_class = xml_.hex(node, "class", 0xffffff).value_or(0) >> 8;
    const FoundLink link = xml_.link(node);
    const Node gpu_node = node.child("gpu");
    const Node nic_node = node.child("nic");
    int devices = 0;
    for (const Node& child : xml_.elements(node))
      devices += std::string(child.name()) == "gpu" || std::string(child.name()) == "nic" ? 1 : 0;
    if (devices > 1 || (devices == 1 && node.child("pci")))
      xml_.fail(node, "must hold one <gpu>, one <nic> or further <pci>");
    if (gpu_node || (pci_class == 0x0302 && !node.first_child()))
      gpu(node, gpu_node, on, bus, link);
    else if (nic_node || ((pci_class == 0x0207 || pci_class == 0x0200) && !node.first_child()))
      nic(nic_node, on, link, node);
    else if (pci_class == 0x0604 || node.child("pci"))
      bridge(node, on, link, depth);
    else
      found_.notes.insert(fmt::format("PCI devices of class 0x{:04x} were left out", pci_class));
  }

  void bridge(const Node& node, const std::string& on, const FoundLink& link, int depth)
  {
    if (!node.child("pci"))
      return; // nothing below that matters
    if (static_cast<int>(found_.switches.size()) >= kMostSwitches)
      xml_.fail(node, fmt::format("there are more than {} PCI bridges", kMostSwitches));
    const std::string name = fmt::format("pcie{}", found_.switches.size());
    found_.switches.push_back({name, on, link});
    for (const Node& child : xml_.elements(node)) {
      if (std::string(child.name()) == "pcilink")
        found_.notes.insert("direct links between PCIe switches (<pcilink>) were left out");
      else
        device(child, name, depth + 1);
    }
  }

  void gpu(const Node& pci, const Node& node, const std::string& on, const std::string& bus,
           const FoundLink& link)
  {
    if (static_cast<int>(gpus_.size()) >= kMostGpus)
      xml_.fail(pci, fmt::format("there are more than the {} GPUs a node can have", kMostGpus));
    GpuEntry entry;
    entry.where = pci;
    entry.bus = bus;
    entry.gpu.on = on;
    entry.gpu.link = link;
    if (xml_.hex(pci, "vendor", 0xffff).value_or(0) == 0x10de)
      entry.gpu.device = xml_.hex(pci, "device", 0xffff).value_or(0);
    found_.nvlink_told = found_.nvlink_told && node;
    if (node) {
      entry.gpu.compute_capability = xml_.whole(node, "sm", 0, 999).value_or(0);
      entry.dev = xml_.whole(node, "dev", 0, 1 << 20);
      entry.order = xml_.whole(node, "rank", 0, 1 << 30).value_or(0);
      for (const Node& child : xml_.elements(node)) {
        const std::string name = child.name();
        if (name == "nvlink")
          entry.links.push_back(
              {child.attribute("target").value(), xml_.needed_whole(child, "count", 1, 64), child});
        else if (name == "xgmi")
          xml_.fail(child, "XGMI links (AMD GPUs) are not known to platforms");
        else if (name == "c2c")
          found_.notes.insert("chip-to-chip links to the CPU (<c2c>) were left out");
        else
          unknown(child);
      }
    }
    gpus_.push_back(std::move(entry));
  }

  void nic(const Node& node, const std::string& on, const FoundLink& link, const Node& pci)
  {
    FoundNic nic;
    nic.on = on;
    nic.link = link;
    if (pci) {
      nic.vendor = xml_.hex(pci, "vendor", 0xffff).value_or(0);
      nic.device = xml_.hex(pci, "device", 0xffff).value_or(0);
      const int pci_class = xml_.hex(pci, "class", 0xffffff).value_or(0) >> 8;
      if (pci_class == 0x0207 || pci_class == 0x0200)
        nic.fabric = pci_class == 0x0207;
    }
    const std::size_t before = found_.nics.size();
    for (const Node& net : xml_.elements(node)) {
      if (std::string(net.name()) != "net") {
        unknown(net);
        continue;
      }
      if (net.attribute("coll").as_bool()) {
        found_.notes.insert("adapters listed again for in-network reduction were left out");
        continue;
      }
      nic.name = net.attribute("name").value();
      nic.order = xml_.whole(net, "dev", 0, 1 << 20).value_or(-1);
      nic.megabits = xml_.whole(net, "speed", -1, 100000000).value_or(0);
      nic.megabits = std::max(nic.megabits, 0.0);
      add(nic, net);
    }
    if (!node) { // a hand-written NCCL_TOPO_FILE names only the PCI device
      nic.name = fmt::format("nic{}", found_.nics.size());
      add(nic, pci);
    }
    if (found_.nics.size() > before + 1 && pci)
      found_.notes.insert(fmt::format("the {} ports of one adapter ({}...) each got the PCIe link "
                                      "they share",
                                      found_.nics.size() - before, found_.nics[before].name));
  }

  void add(FoundNic nic, const Node& where)
  {
    const auto taken = [this](const std::string& name) {
      return std::any_of(found_.nics.begin(), found_.nics.end(),
                         [&](const FoundNic& other) { return other.name == name; });
    };
    if (!is_device_name(nic.name))
      xml_.fail(where,
                "name must be letters, digits, '_', '-' or '.', got '" + excerpt(nic.name) + "'");
    if (taken(nic.name))
      nic.name += "_port" + excerpt(where.attribute("port").value(), 4);
    if (taken(nic.name) || !is_device_name(nic.name))
      xml_.fail(where, "adapter '" + excerpt(nic.name) + "' appears twice");
    if (static_cast<int>(found_.nics.size()) >= kMostNics)
      xml_.fail(where, fmt::format("there are more than {} adapters", kMostNics));
    found_.nics.push_back(std::move(nic));
  }

  // GPUs in the order CUDA numbers them, then their NVLinks.
  void gpus()
  {
    std::set<long> devs;
    for (const auto& entry : gpus_)
      if (entry.dev)
        devs.insert(*entry.dev);
    if (devs.size() == gpus_.size()) {
      for (auto& entry : gpus_)
        entry.order = *entry.dev;
    } else {
      std::set<long> ranks;
      for (const auto& entry : gpus_)
        ranks.insert(entry.order);
      if (ranks.size() != gpus_.size())
        for (std::size_t i = 0; i < gpus_.size(); ++i)
          gpus_[i].order = static_cast<long>(i);
      found_.notes.insert(
          ranks.size() == gpus_.size()
              ? "device numbers repeat: GPUs were numbered by rank"
              : "GPUs have no numbers: they were numbered in the order of the file");
    }
    std::stable_sort(gpus_.begin(), gpus_.end(),
                     [](const auto& a, const auto& b) { return a.order < b.order; });
    for (const auto& entry : gpus_)
      found_.gpus.push_back(entry.gpu);
    std::stable_sort(found_.nics.begin(), found_.nics.end(),
                     [](const auto& a, const auto& b) { return a.order < b.order; });
    nvlinks();
  }

  void nvlinks()
  {
    const std::size_t n = gpus_.size();
    found_.bricks.assign(n, std::vector<int>(n, 0));
    std::vector<int> to_switch(n, 0);
    for (std::size_t a = 0; a < n; ++a) {
      for (const auto& link : gpus_[a].links) {
        const int tclass = xml_.hex(link.where, "tclass", 0xffffff).value_or(0) >> 8;
        const auto peer = std::find_if(gpus_.begin(), gpus_.end(),
                                       [&](const auto& it) { return it.bus == link.bus; });
        if (peer != gpus_.end()) {
          const auto b = static_cast<std::size_t>(peer - gpus_.begin());
          if (a == b)
            xml_.fail(link.where, "an NVLink leads from " + link.bus + " to itself");
          found_.bricks[a][b] += link.count;
        } else if (xml_.hex(link.where, "tclass", 0xffffff).value_or(0) == 0x068000) {
          to_switch[a] += link.count;
        } else if (tclass == 0x0680) {
          xml_.fail(link.where,
                    "an NVLink leads to a CPU (POWER), which platforms cannot describe");
        } else {
          xml_.fail(link.where,
                    "an NVLink leads to '" + excerpt(link.bus) +
                        "', which is no GPU or NVSwitch of this file",
                    "was the dump made by a job that used only some of the GPUs?");
        }
      }
    }
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (found_.bricks[a][b] != found_.bricks[b][a])
          xml_.fail(gpus_[a].where,
                    fmt::format("{} has {} NVLinks to {}, which has {} back", gpus_[a].bus,
                                found_.bricks[a][b], gpus_[b].bus, found_.bricks[b][a]));
    switches(to_switch);
  }

  void switches(const std::vector<int>& to_switch)
  {
    found_.nvswitch = std::any_of(to_switch.begin(), to_switch.end(), [](int c) { return c > 0; });
    if (!*found_.nvswitch)
      return;
    found_.switch_bricks = to_switch.front();
    for (std::size_t a = 0; a < to_switch.size(); ++a) {
      if (bricks_of(found_, a) > 0)
        xml_.fail(gpus_[a].where, "has NVLinks both to peers and to a switch");
      if (to_switch[a] != found_.switch_bricks)
        xml_.fail(gpus_[a].where, fmt::format("has {} NVLinks to switches, GPU 0 has {}",
                                              to_switch[a], found_.switch_bricks));
    }
  }

  const XmlFile& xml_;
  FoundNode& found_;
  std::set<std::string> buses_;
  std::vector<GpuEntry> gpus_;
};

} // namespace

FoundNode read_nccl_topology(const std::string& text, const std::string& name, int numa_per_socket)
{
  const XmlFile xml(text, name);
  FoundNode found;
  found.kind = "NCCL topology XML";
  found.file = name;
  Importer(xml, found).system(xml.root(), numa_per_socket);
  return found;
}

} // namespace foretrain::platforms
