#include "experiments/run/limits/socket_remark.hpp"

#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/remarks.hpp"

#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kFirstVersion = 2408; // that knows the variable
constexpr int kThreads = 4;         // what NCCL takes by itself over Google's adapters

bool over_sockets(const ResolvedExperiment& experiment, const ResolvedJob& job)
{
  std::set<int> nodes;
  for (const platforms::GpuPlace& place : job.ranks)
    nodes.insert(place.node);
  const platforms::Transport& transport = experiment.stack.transport;
  return nodes.size() > 1 && !experiment.platform.gpu.on_host() &&
         transport.protocol == platforms::NetworkProtocol::tcp && transport.parallel() < kThreads &&
         job.library.version >= kFirstVersion && !job.parameter_servers && !job.library.host &&
         job.ranks.size() <= kMostRanks;
}

} // namespace

std::string remark_sockets(const ResolvedExperiment& experiment, std::size_t job, double rate,
                           const RunOptions& options, const JobResult& result)
{
  const ResolvedJob& resolved = experiment.jobs[job];
  if (!over_sockets(experiment, resolved) ||
      result.time.exposed_communication < kWaits * result.time.total())
    return "";
  ResolvedExperiment changed = experiment;
  changed.stack.transport.connections = kThreads;
  for (ResolvedJob& other : changed.jobs)
    other.stack.transport.connections = kThreads;
  changed.exchanges = std::make_shared<KnownExchanges>();
  const double more = throughputs_with(changed, {}, 1, options)[job];
  if (more <= (1 + kClearlyFaster) * rate)
    return "";
  return fmt::format(
      "{}: few threads and connections of {} hold up what it sends over sockets: with "
      "NCCL_SOCKET_NTHREADS={} the job would be {:.0f} % faster",
      resolved.spec.name, resolved.library.name, kThreads, 100 * (more / rate - 1));
}

} // namespace foretrain::experiments
