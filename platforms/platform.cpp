#include "platforms/platform.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

// So many may stand on a fabric whose file does not say how many there can be.
constexpr int kNodesOfNetworks = 1024;

// Checks that go beyond single values: names that must exist, numbers that must fit each other.
class Checker {
public:
  Checker(const PlatformSpec& spec, const Value& root) : spec_(spec), node_(root.at("node"))
  {
    for (int i = 0; i < spec.node.sockets; ++i)
      places_.push_back("socket" + std::to_string(i));
  }

  void switches()
  {
    for (std::size_t i = 0; i < spec_.node.pcie_switches.size(); ++i) {
      const auto& it = spec_.node.pcie_switches[i];
      const Value at = node_.at("pcie_switches").at(i);
      place(it.on, at.at("on"));
      unique(it.name, at.at("name"));
      places_.push_back(it.name);
    }
  }

  void devices()
  {
    if (spec_.node.gpus) {
      const Value on = node_.at("gpus").at("on");
      for (std::size_t i = 0; i < spec_.node.gpus->on.size(); ++i)
        place(spec_.node.gpus->on[i], on.at(i));
      if (spec_.node.gpus->on.empty() || spec_.node.gpus->on.size() > 128)
        on.fail(fmt::format("must name the place of 1 to 128 GPUs, got {}",
                            spec_.node.gpus->on.size()));
    }
    for (std::size_t i = 0; i < spec_.node.nics.size(); ++i) {
      const Value at = node_.at("nics").at(i);
      place(spec_.node.nics[i].on, at.at("on"));
      unique(spec_.node.nics[i].name, at.at("name"));
    }
    for (std::size_t i = 0; i < spec_.node.disks.size(); ++i) {
      const Value at = node_.at("disks").at(i);
      unique(spec_.node.disks[i].name, at.at("name"));
      if (at.json().contains("on"))
        place(spec_.node.disks[i].on, at.at("on"));
    }
  }

  void nvlink() const
  {
    const NvlinkSpec& spec = spec_.node.nvlink;
    const int gpus = spec_.gpus_per_node();
    if (spec.nvswitch || spec.all_pairs > 0 || !spec.pairs.empty()) {
      const Value at = node_.at("nvlink");
      if (spec.nvswitch + (spec.all_pairs > 0) + !spec.pairs.empty() > 1)
        at.fail("must have only one of all_pairs, pairs and nvswitch");
      if (spec_.gpu.nvlink_bricks == 0)
        at.fail("is given, but the GPU '" + spec_.gpu.name + "' has no NVLink");
      if (spec_.gpu.nvlink_brick.value() <= 0)
        at.fail("is given, but a brick of the GPU '" + spec_.gpu.name + "' carries 0 GB/s");
    }
    std::vector<int> used(static_cast<std::size_t>(gpus), spec.all_pairs * (gpus - 1));
    for (std::size_t i = 0; i < spec.pairs.size(); ++i) {
      const auto& pair = spec.pairs[i];
      const Value at = node_.at("nvlink").at("pairs").at(i);
      const auto is_gpu = [gpus](int g) { return g >= 0 && g < gpus; };
      if (pair.size() != 3 || !is_gpu(pair[0]) || !is_gpu(pair[1]) || pair[0] == pair[1] ||
          pair[2] < 1)
        at.fail(
            fmt::format("must be [gpu, gpu, bricks] with two different GPUs from 0 to {} and at "
                        "least one brick, got {}",
                        gpus - 1, at.shown()));
      used[static_cast<std::size_t>(pair[0])] += pair[2];
      used[static_cast<std::size_t>(pair[1])] += pair[2];
    }
    for (int g = 0; g < gpus; ++g)
      if (used[static_cast<std::size_t>(g)] > spec_.gpu.nvlink_bricks)
        node_.at("nvlink").fail(fmt::format("uses {} bricks of GPU {}, but a {} has {}",
                                            used[static_cast<std::size_t>(g)], g, spec_.gpu.name,
                                            spec_.gpu.nvlink_bricks));
  }

  void networks(const Value& root) const
  {
    std::vector<std::string> names;
    for (const auto& nic : spec_.node.nics)
      names.push_back(nic.name);
    std::vector<std::string> plugged;
    for (std::size_t i = 0; i < spec_.networks.size(); ++i) {
      const Value nics = root.at("networks").at(i).at("nics");
      if (spec_.networks[i].nics.empty())
        nics.fail("is an empty list: a network needs an adapter of the node",
                  "adapters: " + joined(names));
      for (std::size_t k = 0; k < spec_.networks[i].nics.size(); ++k) {
        const std::string& nic = spec_.networks[i].nics[k];
        if (std::find(names.begin(), names.end(), nic) == names.end())
          nics.at(k).fail("is not an adapter of the node: '" + nic + "'",
                          suggestion(nic, names, "adapters"));
        if (std::find(plugged.begin(), plugged.end(), nic) != plugged.end())
          nics.at(k).fail("is plugged in already: '" + nic + "'",
                          "an adapter is in one network, once");
        plugged.push_back(nic);
      }
    }
    if (spec_.max_nodes > 1 && spec_.networks.empty())
      root.fail_at("networks", "is missing: more than one node needs a fabric");
  }

private:
  void place(const std::string& name, const Value& at) const
  {
    if (std::find(places_.begin(), places_.end(), name) == places_.end())
      at.fail("is not a socket or PCIe switch of this node: '" + excerpt(name) + "'",
              suggestion(name, places_, "places"));
  }
  void unique(const std::string& name, const Value& at)
  {
    if (name.empty() || std::find(names_.begin(), names_.end(), name) != names_.end() ||
        std::find(places_.begin(), places_.end(), name) != places_.end())
      at.fail("must be a name of its own, got '" + excerpt(name) + "'");
    names_.push_back(name);
  }

  const PlatformSpec& spec_;
  Value node_;
  std::vector<std::string> places_;
  std::vector<std::string> names_;
};

// Adapters that the network plug-in joins, of one kind in one place of every node and on one
// network, become one of their rates together, under the first one's name.
void join_adapters(PlatformSpec& spec)
{
  const auto network_of = [&](const std::string& nic) {
    std::size_t at = 0;
    for (; at < spec.networks.size(); ++at) {
      const auto& names = spec.networks[at].nics;
      if (std::find(names.begin(), names.end(), nic) != names.end())
        break;
    }
    return at;
  };
  for (std::size_t first = 0; first < spec.nics.size(); ++first) {
    if (!spec.nics[first].joined)
      continue;
    const NicSpec one = spec.node.nics[first];
    for (std::size_t i = first + 1; i < spec.nics.size();) {
      const NicSpec& other = spec.node.nics[i];
      if (other.on != one.on || spec.nics[i].name != spec.nics[first].name ||
          network_of(other.name) != network_of(one.name)) {
        ++i;
        continue;
      }
      spec.nics[first].line += spec.nics[i].line;
      spec.nics[first].ports += spec.nics[i].ports;
      spec.nics[first].pcie_lanes += spec.nics[i].pcie_lanes;
      for (NetworkSpec& network : spec.networks)
        std::erase(network.nics, other.name);
      spec.nics.erase(spec.nics.begin() + static_cast<std::ptrdiff_t>(i));
      spec.node.nics.erase(spec.node.nics.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// What hangs on a socket is as fast as the CPU's lanes let it be; a switch was made for its GPUs.
void limit_to_lanes(PlatformSpec& spec)
{
  const auto& switches = spec.node.pcie_switches;
  const auto at_socket = [&](const std::string& part) {
    return std::ranges::find(switches, part, &PcieSwitchSpec::name) == switches.end();
  };
  const auto at_most = [&](int generation) {
    return std::min(generation, spec.cpu.pcie_generation.value_or(generation));
  };
  const int of_gpus = spec.node.gpus ? spec.gpu.pcie_generation : kPcieGeneration;
  if (spec.node.gpus && std::ranges::any_of(spec.node.gpus->on, at_socket))
    spec.gpu.pcie_generation = at_most(spec.gpu.pcie_generation);
  for (std::size_t i = 0; i < spec.nics.size(); ++i)
    if (at_socket(spec.node.nics[i].on))
      spec.nics[i].pcie_generation = at_most(spec.nics[i].pcie_generation);
  for (PcieSwitchSpec& it : spec.node.pcie_switches)
    if (it.generation == 0)
      it.generation = at_socket(it.on) ? at_most(of_gpus) : of_gpus;
}

PlatformSpec read_platform(const Value& value)
{
  auto spec = read_as<PlatformSpec>(value);
  spec.origin = value;
  if (spec.node.name.empty())
    spec.node.name = spec.name;
  spec.max_nodes = spec.nodes_told.value_or(spec.networks.empty() ? 1 : kNodesOfNetworks);
  if (spec.node.gpus) {
    const Value gpu = resolve_preset(spec.node.gpus->type, kGpuKind);
    spec.gpu = read_as<Gpu>(gpu);
    if (const Gpu& g = spec.gpu;
        !(g.on_host() || g.fp32 || g.tf32 || g.fp16 || g.bf16 || g.fp8 || g.fp4 || g.int8))
      gpu.fail_at("fp32", "is missing: the GPU has no rate in any precision",
                  R"("fp32": { "peak": "15.7 TFLOP/s" }, and "fp16", "bf16" and others likewise)");
    if (spec.node.gpus->generation)
      spec.gpu.pcie_generation = std::min(spec.gpu.pcie_generation, *spec.node.gpus->generation);
    if (spec.node.gpus->lanes)
      spec.gpu.pcie_lanes = std::min(spec.gpu.pcie_lanes, *spec.node.gpus->lanes);
  }
  const Value cpu = resolve_preset(spec.node.cpu, kCpuKind);
  spec.cpu = read_as<Cpu>(cpu);
  if (spec.node.sockets > 1 && spec.cpu.socket_link.value() <= 0)
    cpu.fail_at(
        "socket_link",
        fmt::format("is {}: the node has {} sockets, and something joins them",
                    cpu.json().contains("socket_link") ? "0" : "missing", spec.node.sockets),
        "usable rate of one direction, as NCCL takes it: \"9 GB/s\" (Xeon of 2017 to 2021), "
        "\"22 GB/s\" (Xeon since 2023), \"16 GB/s\" (EPYC)");
  for (const auto& nic : spec.node.nics) {
    spec.nics.push_back(read_as<Nic>(resolve_preset(nic.type, kNicKind)));
    spec.nics.back().line = spec.nics.back().rate;
  }
  for (const auto& disk : spec.node.disks)
    spec.disks.push_back(striped(read_as<Disk>(resolve_preset(disk.type, kDiskKind)), disk.count));
  for (const auto& network : spec.networks)
    spec.fabrics.push_back(read_as<Fabric>(resolve_preset(network.fabric, kFabricKind)));
  limit_to_lanes(spec);
  Checker checker(spec, value);
  checker.switches();
  checker.devices();
  checker.nvlink();
  checker.networks(value);
  join_adapters(spec);
  limit_to_ports(spec);
  return spec;
}

} // namespace

namespace {

// Whether an adapter is of a network.
bool is_plugged(const PlatformSpec& spec, std::size_t network, std::size_t nic)
{
  const auto& plugged = spec.networks[network].nics;
  return std::find(plugged.begin(), plugged.end(), spec.node.nics[nic].name) != plugged.end();
}

} // namespace

void limit_to_ports(PlatformSpec& spec)
{
  spec.remarks.clear();
  for (std::size_t n = 0; n < spec.networks.size(); ++n)
    if (Fabric& fabric = spec.fabrics[n]; fabric.port_rate.value() <= 0)
      for (std::size_t i = 0; i < spec.nics.size(); ++i)
        if (is_plugged(spec, n, i))
          fabric.port_rate = std::max(fabric.port_rate, spec.nics[i].line / spec.nics[i].ports);
  for (std::size_t i = 0; i < spec.nics.size(); ++i) {
    Nic& nic = spec.nics[i];
    nic.rate = nic.line;
    for (std::size_t n = 0; n < spec.networks.size(); ++n) {
      const BytesPerSecond port = nic.ports * spec.fabrics[n].port_rate;
      if (!is_plugged(spec, n, i) || nic.rate <= kSameLink * port)
        continue;
      nic.rate = port;
      spec.remarks.push_back(fmt::format("{}, a {} of {}, runs at the {} of a port of the {}",
                                         spec.node.nics[i].name, nic.name, to_text(nic.line),
                                         to_text(port), spec.fabrics[n].name));
    }
  }
}

PlatformSpec load_platform(const Value& reference)
{
  std::optional<Value> found;
  try {
    found = resolve_preset(reference, kPlatformKind);
  } catch (const ConfigError&) {
    const std::vector<std::string> gpus = preset_names(kGpuKind);
    if (!reference.json().is_string() ||
        std::find(gpus.begin(), gpus.end(), reference.json().get<std::string>()) == gpus.end())
      throw;
    reference.fail(
        "is a GPU, not a platform: " + reference.shown(),
        "a platform with them: {\"extends\": \"NAME\", \"node\": {\"gpus\": {\"type\": " +
            reference.shown() + "}}}, NAME one of 'foretrain platform list'");
  }
  return read_platform(*found);
}

PlatformSpec load_platform(const std::string& name_or_path)
{
  return read_platform(resolve_preset(name_or_path, kPlatformKind));
}

} // namespace foretrain::platforms
