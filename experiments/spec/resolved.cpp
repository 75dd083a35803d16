#include "experiments/spec/resolved.hpp"

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

} // namespace foretrain::experiments
