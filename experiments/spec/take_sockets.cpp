#include "experiments/spec/take_sockets.hpp"

#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

bool between_nodes(const ResolvedJob& job)
{
  std::set<int> nodes(job.server_nodes.begin(), job.server_nodes.end());
  for (const platforms::GpuPlace& place : job.ranks)
    nodes.insert(place.node);
  return nodes.size() > 1;
}

bool speaks_sockets_only(const ResolvedJob& job)
{
  if (!between_nodes(job))
    return false;
  return job.parameter_servers ? job.framework.servers->sockets
                               : job.library.host && job.library.host->sockets;
}

const std::string& who(const ResolvedJob& job)
{
  return job.parameter_servers ? job.framework.name : job.library.name;
}

} // namespace

void take_sockets(ResolvedExperiment& e)
{
  for (ResolvedJob& job : e.jobs) {
    const platforms::Transport given = job.stack.transport;
    const platforms::Network network = platforms::find_network(e.platform, given);
    if (given.protocol != platforms::NetworkProtocol::rdma || network.index < 0 ||
        !speaks_sockets_only(job))
      continue;
    const auto& nic = e.platform.nics[static_cast<std::size_t>(network.nics.front())];
    const Value name = given.sockets ? given.sockets->on(nic.link) : Value();
    if (!name) {
      job.warnings.push_back(fmt::format(
          "{}: '{}' exchanges gradients between nodes through sockets, and '{}' names none for its "
          "adapters (\"sockets\"): taken as it is",
          job.spec.name, who(job), given.name));
      continue;
    }
    job.stack = platforms::make_stack(job.stack.host, platforms::load_transport(name));
    job.warnings.push_back(
        fmt::format("{}: '{}' exchanges gradients between nodes through sockets: '{}' over the "
                    "adapters of '{}'",
                    job.spec.name, who(job), job.stack.transport.name, given.name));
  }
}

} // namespace foretrain::experiments
