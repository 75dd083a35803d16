#include "platforms/host_links.hpp"

#include "platforms/rings.hpp"

#include <algorithm>

namespace foretrain::platforms {

double loopback_work(const Transport& transport, double copies)
{
  return transport.cpu_per_segment.value() / transport.segment.value() +
         (transport.copies + copies) / transport.copy_rate.value();
}

sim::Hop loopback_hop(const Machine& machine, int node, double copies)
{
  const Transport& transport = machine.stack().transport;
  const double work = loopback_work(transport, copies);
  sim::Hop hop;
  hop.reach = sim::Reach::pcie;
  hop.latency = transport.latency;
  hop.cap = work > 0 ? 1 / work : hop.cap;
  hop.uses = {{machine.cores(node).value, 2 * work},
              {machine.dram(node, 0).value, 4 * (transport.copies + copies)}};
  return hop;
}

namespace {

using Ranks = std::vector<GpuPlace>;

std::vector<Ranks> processes_of(const Ranks& ranks, bool per_node)
{
  std::vector<Ranks> processes;
  for (const GpuPlace& gpu : ranks) {
    const auto same = [&](const Ranks& process) { return process.front().node == gpu.node; };
    const auto at = std::find_if(processes.begin(), processes.end(), same);
    if (per_node && at != processes.end())
      at->push_back(gpu);
    else
      processes.push_back({gpu});
  }
  return processes;
}

// The copies of so many GPUs of a process, each of its whole buffer.
template <class Copy>
sim::Hop copies(const Ranks& process, std::size_t gpus, const Copy& copy)
{
  sim::Hop hop;
  for (std::size_t g = 0; g < gpus; ++g) {
    const sim::PathPtr path = copy(process[g]);
    hop.latency = std::max(hop.latency, path->latency);
    hop.uses.insert(hop.uses.end(), path->uses.begin(), path->uses.end());
  }
  return hop;
}

} // namespace

sim::HostLinks make_host_links(const Machine& machine, const Ranks& ranks, bool process_per_node,
                               const std::string& name)
{
  sim::HostLinks links;
  links.name = name;
  const auto processes = processes_of(ranks, process_per_node);
  const auto up = [&](GpuPlace gpu) { return machine.device_to_host(gpu); };
  const auto down = [&](GpuPlace gpu) { return machine.host_to_device(gpu); };
  for (const Ranks& process : processes) {
    links.local.push_back(make_communicator(machine, process, name));
    links.first_to_host.push_back(copies(process, 1, up));
    links.first_to_device.push_back(copies(process, 1, down));
    links.all_to_host.push_back(copies(process, process.size(), up));
    links.all_to_device.push_back(copies(process, process.size(), down));
    links.cores.push_back(machine.cores(process.front().node).value);
    links.memory.push_back(machine.dram(process.front().node, 0).value);
  }
  const auto& nics = machine.training_nics();
  for (std::size_t p = 0; p < processes.size(); ++p) {
    const int from = processes[p].front().node;
    const int to = processes[(p + 1) % processes.size()].front().node;
    links.next.push_back(from == to ? loopback_hop(machine, from, 0)
                                    : machine.host_hop(from, to, nics.front()));
  }
  return links;
}

} // namespace foretrain::platforms
