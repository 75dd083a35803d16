#include "platforms/servers.hpp"

#include "platforms/host_links.hpp"
#include "platforms/rings.hpp"

#include <map>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

using Ranks = std::vector<GpuPlace>;

constexpr double kHandOver = 1e15; // bytes per second: no time

std::vector<Ranks> workers_of(const Ranks& ranks, bool per_node)
{
  std::vector<Ranks> workers;
  std::map<int, std::size_t> of_node;
  for (const GpuPlace& place : ranks) {
    if (!per_node) {
      workers.push_back({place});
      continue;
    }
    const auto [at, added] = of_node.emplace(place.node, workers.size());
    if (added)
      workers.emplace_back();
    workers[at->second].push_back(place);
  }
  return workers;
}

// Each GPU of a worker moves its part of the gradients.
template <class Copy>
sim::Hop copies(const Ranks& worker, const Copy& copy)
{
  sim::Hop hop;
  const double part = 1.0 / static_cast<double>(worker.size());
  for (const GpuPlace& gpu : worker) {
    const sim::PathPtr path = copy(gpu);
    hop.latency = std::max(hop.latency, path->latency);
    for (const sim::Use& use : path->uses)
      hop.uses.push_back({use.resource, use.weight * part});
  }
  return hop;
}

// Processes that talk to each other, and what a byte costs between them.
class ServerNetwork {
public:
  ServerNetwork(sim::Engine& engine, const Machine& machine, const ServerPlan& plan,
                const std::vector<Ranks>& workers, const std::string& name)
      : machine_(machine), plan_(plan)
  {
    const auto& nics = machine.training_nics();
    nic_ = nics.empty() ? -1 : nics.front();
    for (const Ranks& worker : workers)
      worker_nodes_.push_back(worker.front().node);
    const bool sockets = machine.stack().transport.protocol == NetworkProtocol::tcp;
    const auto each = [&](const std::vector<int>& nodes, sim::ResourceKind kind, const char* what,
                          const char* part, double capacity) {
      std::vector<int> resources;
      for (std::size_t i = 0; capacity > 0 && i < nodes.size(); ++i)
        resources.push_back(
            engine
                .add_resource({kind, nodes[i], fmt::format("{}/{}{}/{}", name, what, i, part)},
                              capacity)
                .value);
      return resources;
    };
    const double threads = sockets ? plan.network_threads : 0;
    worker_threads_ =
        each(worker_nodes_, sim::ResourceKind::network_thread, "worker", "network-thread", threads);
    server_threads_ =
        each(plan.nodes, sim::ResourceKind::network_thread, "server", "network-thread", threads);
    const double verbs = sockets ? 0 : plan.verbs_rate.value();
    for (const char* way : {"verbs-send", "verbs-receive"}) {
      worker_verbs_.push_back(each(worker_nodes_, sim::ResourceKind::verbs, "worker", way, verbs));
      server_verbs_.push_back(each(plan.nodes, sim::ResourceKind::verbs, "server", way, verbs));
    }
  }

  sim::Hop hop(int worker, int server, bool push) const
  {
    const auto w = static_cast<std::size_t>(worker);
    const auto s = static_cast<std::size_t>(server);
    const int from = push ? worker_nodes_[w] : plan_.nodes[s];
    const int to = push ? plan_.nodes[s] : worker_nodes_[w];
    if (plan_.in_process) { // a pointer changes hands
      sim::Hop own;
      own.cap = kHandOver;
      return own;
    }
    if (from == to && plan_.loopback)
      return over_loopback(w, s, from);
    sim::Hop hop = machine_.host_hop(from, to, nic_);
    if (from == to)
      return hop;
    const Stack& stack = machine_.stack();
    const double copy = plan_.copies / stack.transport.copy_rate.value();
    const double work = network_work(stack, machine_.framing()).sockets + copy;
    for (const int node : {from, to}) {
      hop.uses.push_back({machine_.cores(node).value, copy});
      hop.uses.push_back({machine_.dram(node, 0).value, 2 * plan_.copies});
    }
    if (!worker_threads_.empty()) {
      hop.uses.push_back({worker_threads_[w], work});
      hop.uses.push_back({server_threads_[s], work});
    }
    if (!worker_verbs_.front().empty()) {
      hop.uses.push_back({worker_verbs_[push ? 0 : 1][w], 1});
      hop.uses.push_back({server_verbs_[push ? 1 : 0][s], 1});
    }
    hop.cap = work > 0 ? 1 / work : hop.cap;
    return hop;
  }

private:
  sim::Hop over_loopback(std::size_t worker, std::size_t server, int node) const
  {
    sim::Hop hop = loopback_hop(machine_, node, plan_.copies);
    if (worker_threads_.empty())
      return hop;
    const double work = loopback_work(machine_.stack().transport, plan_.copies);
    hop.uses.push_back({worker_threads_[worker], work});
    hop.uses.push_back({server_threads_[server], work});
    return hop;
  }

  const Machine& machine_;
  ServerPlan plan_;
  std::vector<int> worker_nodes_;
  std::vector<int> worker_threads_, server_threads_;
  std::vector<std::vector<int>> worker_verbs_, server_verbs_; // what they send, what they receive
  int nic_ = -1;
};

} // namespace

sim::ServerLinks make_server_links(sim::Engine& engine, const Machine& machine,
                                   const std::vector<GpuPlace>& ranks, const ServerPlan& plan,
                                   const std::string& name)
{
  sim::ServerLinks links;
  links.name = name;
  const auto workers = workers_of(ranks, plan.worker_per_node);
  links.workers = static_cast<int>(workers.size());
  links.servers = static_cast<int>(plan.nodes.size());
  for (const Ranks& worker : workers) {
    links.to_host.push_back(
        copies(worker, [&](GpuPlace gpu) { return machine.device_to_host(gpu); }));
    links.to_device.push_back(
        copies(worker, [&](GpuPlace gpu) { return machine.host_to_device(gpu); }));
    if (plan.worker_per_node)
      links.local.push_back(make_communicator(machine, worker, name));
  }
  const auto network = std::make_shared<const ServerNetwork>(engine, machine, plan, workers, name);
  links.push = [network](int w, int s) { return network->hop(w, s, true); };
  links.pull = [network](int w, int s) { return network->hop(w, s, false); };
  for (const int node : plan.nodes) {
    links.cores.push_back(machine.cores(node).value);
    links.memory.push_back(machine.dram(node, 0).value);
  }
  return links;
}

} // namespace foretrain::platforms
