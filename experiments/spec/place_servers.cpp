#include "experiments/spec/place_servers.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using platforms::GpuPlace;

class ServerPlacer {
public:
  explicit ServerPlacer(ResolvedExperiment& e) : e_(e)
  {
    for (const ResolvedJob& job : e.jobs)
      for (const GpuPlace& place : job.ranks)
        taken_.insert(place.node);
  }

  void place(ResolvedJob& job, const Value& at)
  {
    const auto& wanted = job.spec.parameter_servers;
    if (wanted && !job.framework.servers)
      at.fail_at("parameter_servers",
                 fmt::format("are not known to '{}', which reduces gradients among the GPUs",
                             job.framework.name),
                 "frameworks with parameter servers: tensorflow-ps, byteps, mxnet");
    std::set<int> workers;
    for (const GpuPlace& place : job.ranks)
      workers.insert(place.node);
    job.parameter_servers =
        wanted || job.framework.synchronisation == models::Synchronisation::parameter_server ||
        (workers.size() > 1 && between_nodes(job));
    if (job.transformer && job.parameter_servers && job.ranks.size() > 1)
      at.fail_at("framework",
                 fmt::format("is '{}', which adds gradients by parameter servers, and those of a "
                             "transformer are known by collectives alone",
                             job.framework.name),
                 "one with collectives, such as pytorch-ddp or nemo; or a model that is told by "
                 "its layers, such as bert-base-128");
    // A GPU alone still copies variables that live in host memory.
    if (!job.parameter_servers ||
        (job.ranks.size() < 2 && job.framework.servers->worker != models::ServerClient::gpu))
      return;
    const models::ServerRules& rules = *job.framework.servers;
    if (rules.one_process && workers.size() > 1)
      at.fail_at(
          "framework",
          fmt::format("is '{}', of which servers and workers are one process, but the job has "
                      "{} nodes",
                      job.framework.name, workers.size()),
          "frameworks with a process on each node: tensorflow-ps, tensorflow-horovod");
    // One worker process needs nobody to add its gradients to others'.
    if (workers.size() == 1 && rules.worker == models::ServerClient::node && !wanted)
      return;
    const int count = wanted && wanted->count ? *wanted->count : static_cast<int>(workers.size());
    const bool asked = wanted && wanted->on;
    // A server on the only node of a job shares its memory: nothing is gained by a node apart.
    const bool apart = asked ? *wanted->on == models::ServerPlace::apart
                             : rules.on == models::ServerPlace::apart && workers.size() > 1;
    if (apart && place_apart(job, count))
      return;
    if (apart && asked)
      at.at("parameter_servers")
          .fail_at("on", fmt::format("is apart, but no {} nodes are left: '{}' has at most {}",
                                     count, e_.platform.name, e_.platform.max_nodes));
    if (apart)
      job.warnings.push_back(fmt::format("{}: '{}' has no {} further nodes for parameter servers: "
                                         "they run on the workers' nodes",
                                         job.spec.name, e_.platform.name, count));
    const std::vector<int> nodes(workers.begin(), workers.end());
    for (int s = 0; s < count; ++s)
      job.server_nodes.push_back(nodes[static_cast<std::size_t>(s) % nodes.size()]);
  }

private:
  static bool between_nodes(const ResolvedJob& job)
  {
    return job.framework.servers && job.framework.servers->between_nodes && !job.plan &&
           job.spec.mode == JobMode::train;
  }

  bool place_apart(ResolvedJob& job, int count)
  {
    std::vector<int> nodes;
    for (int node = 0; node < e_.platform.max_nodes && static_cast<int>(nodes.size()) < count;
         ++node)
      if (taken_.count(node) == 0)
        nodes.push_back(node);
    if (static_cast<int>(nodes.size()) < count)
      return false;
    taken_.insert(nodes.begin(), nodes.end());
    if (e_.spec.cluster.nodes && nodes.back() >= *e_.spec.cluster.nodes)
      job.warnings.push_back(
          fmt::format("{}: its parameter servers run on {} nodes beside the {} of "
                      "/cluster/nodes",
                      job.spec.name, count, *e_.spec.cluster.nodes));
    e_.nodes = std::max(e_.nodes, nodes.back() + 1);
    job.server_nodes = std::move(nodes);
    return true;
  }

  ResolvedExperiment& e_;
  std::set<int> taken_;
};

} // namespace

void place_servers(ResolvedExperiment& experiment, const Value& root)
{
  ServerPlacer placer(experiment);
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    placer.place(experiment.jobs[i], root.at("jobs").at(i));
}

} // namespace foretrain::experiments
