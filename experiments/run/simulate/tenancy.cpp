#include "experiments/run/simulate/tenancy.hpp"

#include <algorithm>
#include <map>

namespace foretrain::experiments {

Tenancy::Tenancy(const ResolvedExperiment& experiment)
    : experiment_(experiment), tenants_(experiment.tenants)
{
  for (const ResolvedJob& job : experiment.jobs) {
    std::vector<int> gpus(static_cast<std::size_t>(experiment.nodes), 0);
    for (const auto& place : job.ranks)
      ++gpus[static_cast<std::size_t>(place.node)];
    gpus_.push_back(std::move(gpus));
  }
  if (tenants_.empty()) {
    tenants_.assign(static_cast<std::size_t>(experiment.nodes), 0);
    for (const auto& gpus : gpus_)
      for (std::size_t node = 0; node < gpus.size(); ++node)
        tenants_[node] += gpus[node] > 0 ? 1 : 0;
  }
  for (std::size_t job = 0; job < gpus_.size(); ++job)
    confined_.push_back(is_confined(job));
}

int Tenancy::tenants(int node) const
{
  return tenants_[static_cast<std::size_t>(node)];
}

// Plain processes share all cores; cgroups and virtual machines keep tenants apart.
bool Tenancy::isolated(std::size_t job) const
{
  return experiment_.jobs[job].stack.host.isolation != platforms::Isolation::none;
}

// A tenant's part of a node goes by its GPUs, as the usual per-GPU shares of schedulers do.
double Tenancy::share(std::size_t job, int node) const
{
  const int of_node = experiment_.platform.gpus_per_node();
  return std::min(1.0, static_cast<double>(gpus_on(job, node)) / of_node);
}

bool Tenancy::is_confined(std::size_t job) const
{
  if (experiment_.jobs[job].spec.cores)
    return true;
  for (int node = 0; node < experiment_.nodes; ++node)
    if (gpus_on(job, node) > 0 && isolated(job) && tenants(node) > 1)
      return true;
  return false;
}

double Tenancy::cores(std::size_t job, int node) const
{
  const double all =
      static_cast<double>(experiment_.platform.cpu.cores) * experiment_.platform.node.sockets;
  if (experiment_.jobs[job].spec.cores)
    return std::min(all, *experiment_.jobs[job].spec.cores);
  if (isolated(job) && tenants(node) > 1)
    return std::max(1.0, all * share(job, node));
  return all;
}

// What a job may cache at most, whatever the others do; nothing of its own where it reads nothing.
Bytes Tenancy::own_cache(std::size_t job, int node, Bytes processes) const
{
  if (gpus_on(job, node) == 0 || experiment_.jobs[job].input.synthetic)
    return Bytes(0);
  const Bytes all = experiment_.platform.node.memory;
  const auto& limit = experiment_.jobs[job].spec.memory;
  const Bytes own = limit                                ? std::min(all, *limit)
                    : isolated(job) && tenants(node) > 1 ? share(job, node) * all
                                                         : all;
  return std::max(Bytes(0), own - processes);
}

// What processes leave is shared in equal parts; what one may not use of its part is the others'.
Bytes Tenancy::page_cache(std::size_t job, int node) const
{
  Bytes left = experiment_.platform.node.memory;
  std::vector<std::pair<Bytes, std::size_t>> readers; // the least that may be cached first
  for (std::size_t j = 0; j < gpus_.size(); ++j) {
    const Bytes processes = gpus_on(j, node) * experiment_.jobs[j].framework.input.process_memory;
    left -= processes;
    if (const Bytes own = own_cache(j, node, processes); own.value() > 0)
      readers.emplace_back(own, j);
  }
  left = std::max(Bytes(0), left);
  std::sort(readers.begin(), readers.end());
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const Bytes part = std::min(readers[i].first, left / static_cast<double>(readers.size() - i));
    if (readers[i].second == job)
      return part;
    left -= part;
  }
  return Bytes(0);
}

double Tenancy::decode_threads(std::size_t job, int node) const
{
  const models::InputSettings& settings = experiment_.jobs[job].input.settings;
  const int gpus = std::max(1, gpus_on(job, node));
  if (settings.threads_per_gpu)
    return *settings.threads_per_gpu;
  if (settings.threads_per_node)
    return *settings.threads_per_node / gpus;
  const double own = cores(job, node) * experiment_.platform.cpu.threads_per_core /
                     (settings.process_per_gpu ? 1 : gpus);
  return std::max(1.0, own - settings.cores_kept_per_gpu);
}

bool Tenancy::crowded(int node) const
{
  const double all =
      static_cast<double>(experiment_.platform.cpu.cores) * experiment_.platform.node.sockets;
  double wanted = 0;
  for (std::size_t j = 0; j < gpus_.size(); ++j) {
    const ResolvedJob& job = experiment_.jobs[j];
    if (gpus_on(j, node) == 0)
      continue;
    const platforms::Gpu& gpu = experiment_.platform.gpu;
    const double each = (gpu.on_host() ? gpu.host_cores : job.framework.host_threads) +
                        (job.input.synthetic ? 0 : decode_threads(j, node));
    wanted += gpus_on(j, node) * each;
    if (confined(j) && gpus_on(j, node) * each > cores(j, node))
      return true;
  }
  return wanted > all;
}

std::vector<bool> gpus_apart(const ResolvedExperiment& experiment, std::size_t i,
                             const Tenancy& tenancy)
{
  const ResolvedJob& job = experiment.jobs[i];
  std::map<int, bool> special;
  std::vector<bool> apart;
  for (const auto& place : job.ranks) {
    const auto [at, unknown] = special.try_emplace(place.node);
    if (unknown) {
      at->second = tenancy.crowded(place.node) || place.node == job.ranks.front().node;
      for (std::size_t other = 0; other < experiment.jobs.size(); ++other)
        at->second = at->second || (other != i && tenancy.gpus_on(other, place.node) > 0);
    }
    apart.push_back(at->second);
  }
  return apart;
}

} // namespace foretrain::experiments
