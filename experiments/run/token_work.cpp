#include "experiments/run/token_work.hpp"

namespace foretrain::experiments {

TokenWork token_work(const models::StepSetting& s, std::optional<double> wanted,
                     std::optional<double> gpu_price)
{
  const models::PlannedBatch& batch = s.memory.batch;
  TokenWork work;
  work.per_sample = batch.sequence;
  work.samples_per_step = batch.global_batch;
  const double tokens = work.per_sample * work.samples_per_step;
  const auto flops = [&](models::AttentionCount count) {
    return tokens * models::training_flops_per_token(s.memory.model, s.memory.adapters,
                                                     batch.sequence, count);
  };
  work.flops.full = flops(models::AttentionCount::full);
  work.flops.causal = flops(models::AttentionCount::causal);
  work.peak = FlopsPerSecond(s.fp8 ? s.device.fp8.peak : s.device.half.peak);
  work.wanted = wanted;
  work.gpu_price = gpu_price;
  return work;
}

Range tokens_per_s(const JobResult& job)
{
  const double tokens = job.tokens->per_sample;
  const Range& samples = job.throughput;
  return {tokens * samples.median, tokens * samples.low, tokens * samples.high, samples.interval};
}

FlopsPerSecond model_rate(const JobResult& job, Flops of_step)
{
  const double steps_per_s = job.throughput.median / job.tokens->samples_per_step;
  return FlopsPerSecond(of_step.value() * steps_per_s / job.gpus);
}

} // namespace foretrain::experiments
