#include "experiments/spec/resolved.hpp"

#include "sim/base/quantity_text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

int gradient_bytes(const ResolvedJob& job)
{
  using enum models::GradientPrecision;
  const bool short_for_servers =
      job.server_nodes.empty() || job.framework.servers->gradient_precision == compute;
  return job.framework.gradient_precision == compute && short_for_servers &&
                 sixteen_bits(job.spec.precision)
             ? 2
             : 4;
}

Seconds adding_up(const ResolvedJob& job)
{
  return 3.0 * gradient_bytes(job) *
         Bytes(static_cast<double>(models::totals(job.network).parameters)) /
         job.device.ordinary.memory;
}

BytesPerSecond fusion_copy_rate(const platforms::Gpu& gpu)
{
  return 0.5 * gpu.memory_efficiency * gpu.memory_bandwidth;
}

std::optional<Bytes> checkpoint_bytes(const ResolvedJob& job)
{
  if (job.transformer)
    return models::checkpoint_bytes(job.transformer->step.memory);
  if (job.plan)
    return {};
  const models::NetworkTotals sum = models::totals(job.network);
  return Bytes(static_cast<double>(sum.parameters + sum.divided_parameters) *
               (4 + job.optimizer.state_bytes_per_parameter));
}

Bytes device_memory(const ResolvedJob& job)
{
  if (job.plan)
    return models::memory_of(*job.plan);
  if (job.transformer)
    return models::fullest_stage(job.transformer->step.memory).second.total();
  const int batch = job.spec.batch_per_gpu;
  return job.spec.mode == JobMode::inference
             ? models::inference_memory(job.network, batch, job.device)
             : models::training_memory(job.network, batch, job.device);
}

std::string memory_text(Bytes needed, const platforms::Gpu& gpu)
{
  return fmt::format("about {} of device memory are needed, a {} has {}", gigabytes_text(needed),
                     gpu.name, gigabytes_text(gpu.memory));
}

Bytes memory_left_to(const ResolvedExperiment& experiment, std::size_t job)
{
  if (experiment.jobs.size() == 1)
    return experiment.platform.gpu.memory;
  const auto& ranks = experiment.jobs[job].ranks;
  const std::set<platforms::GpuPlace> mine(ranks.begin(), ranks.end());
  std::map<platforms::GpuPlace, Bytes> taken;
  for (std::size_t j = 0; j < experiment.jobs.size(); ++j) {
    if (j == job)
      continue;
    const Bytes needed = device_memory(experiment.jobs[j]);
    for (const auto& place : experiment.jobs[j].ranks)
      if (mine.count(place) > 0)
        taken[place] += needed;
  }
  Bytes most{};
  for (const auto& [place, bytes] : taken)
    most = std::max(most, bytes);
  return std::max(Bytes{}, experiment.platform.gpu.memory - most);
}

} // namespace foretrain::experiments
