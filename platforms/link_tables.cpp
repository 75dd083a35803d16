#include "platforms/link_tables.hpp"

#include "platforms/idle_copies.hpp"

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

constexpr std::size_t kMany = 16; // connections that fill an adapter

HostCopies copies_of(const PlatformSpec& spec, const Stack& stack, const std::vector<int>& gpus)
{
  sim::Engine engine;
  const Machine machine(engine, spec, stack, 1);
  IdleCopies copies(engine);
  const auto rate = [&](const auto& path) {
    std::vector<sim::PathPtr> paths;
    for (const int gpu : gpus)
      paths.push_back(path(GpuPlace{0, gpu}));
    return copies.rate(paths) / 1e9;
  };
  return {rate([&](GpuPlace gpu) { return machine.host_to_device(gpu); }),
          rate([&](GpuPlace gpu) { return machine.host_to_device(gpu, false); }),
          rate([&](GpuPlace gpu) { return machine.device_to_host(gpu); }),
          machine.host_to_device({0, gpus.front()})->latency};
}

std::string row(const std::string& name, const HostCopies& it)
{
  return fmt::format("{:>6}{:>9.2f}{:>10.2f}{:>9.2f}{:>9.2f}\n", name, it.pinned, it.pageable,
                     it.back, it.latency.value() * 1e6);
}

} // namespace

HostCopies host_copies(const PlatformSpec& spec, const Stack& stack, int gpu)
{
  return copies_of(spec, stack, {gpu});
}

HostCopies all_host_copies(const PlatformSpec& spec, const Stack& stack)
{
  std::vector<int> gpus;
  for (int g = 0; g < spec.gpus_per_node(); ++g)
    gpus.push_back(g);
  return copies_of(spec, stack, gpus);
}

std::vector<Connections> connections(const PlatformSpec& spec, const Stack& stack)
{
  std::vector<Connections> all;
  if (spec.max_nodes < 2)
    return all;
  sim::Engine engine;
  const Machine machine(engine, spec, stack, 2);
  if (!machine.networked())
    return all;
  IdleCopies copies(engine);
  for (const int nic : find_network(spec, stack.transport).nics) {
    const auto paths = [&](int from, std::size_t count) {
      const sim::Hop hop = machine.host_hop(from, 1 - from, nic);
      return std::vector<sim::PathPtr>(
          count,
          sim::make_path(hop.uses, hop.latency, hop.cap > 0 ? hop.cap : sim::MaxMin::kNoCap));
    };
    std::vector<sim::PathPtr> duplex = paths(0, kMany);
    for (const sim::PathPtr& back : paths(1, kMany))
      duplex.push_back(back);
    all.push_back({spec.node.nics[static_cast<std::size_t>(nic)].name,
                   copies.rate(paths(0, 1)) / 1e9, copies.rate(paths(0, kMany)) / 1e9,
                   copies.rate(duplex) / 1e9, machine.host_hop(0, 1, nic).latency});
  }
  return all;
}

std::string host_copies_text(const PlatformSpec& spec, const Stack& stack)
{
  const int gpus = spec.gpus_per_node();
  if (gpus == 0 || spec.gpu.on_host())
    return "";
  std::string text = fmt::format("between host and GPU, GB/s and us\n{:>6}{:>9}{:>10}{:>9}{:>9}\n",
                                 "", "pinned", "pageable", "back", "latency");
  for (int g = 0; g < gpus; ++g)
    text += row("GPU" + std::to_string(g), host_copies(spec, stack, g));
  return gpus > 1 ? text + row("all", all_host_copies(spec, stack)) : text;
}

std::string connections_text(const PlatformSpec& spec, const Stack& stack)
{
  std::string text;
  for (const Connections& it : connections(spec, stack)) {
    if (text.empty())
      text = fmt::format("between hosts of two nodes over {}, GB/s and us\n{:>6}{:>9}{:>10}{:>9}"
                         "{:>9}\n",
                         stack.transport.name, "", "one", "sixteen", "duplex", "latency");
    text += fmt::format("{:>6}{:>9.2f}{:>10.2f}{:>9.2f}{:>9.2f}\n", it.nic, it.one, it.many,
                        it.duplex, it.latency.value() * 1e6);
  }
  return text;
}

} // namespace foretrain::platforms
