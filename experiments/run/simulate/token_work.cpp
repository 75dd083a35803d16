#include "experiments/run/simulate/token_work.hpp"

#include <cmath>

namespace foretrain::experiments {

TokenWork token_work(const models::StepSetting& s)
{
  const models::PlannedBatch& batch = s.memory.batch;
  TokenWork work;
  work.per_sample = batch.tokens_per_sample();
  work.samples_per_step = batch.global_batch;
  const double tokens = work.per_sample * work.samples_per_step;
  const int attended = static_cast<int>(std::lround(batch.attended()));
  const auto flops = [&](models::AttentionCount count) {
    return tokens * models::training_flops_per_token(s.memory.model, s.memory.adapters, attended,
                                                     count, s.memory.experts_take);
  };
  work.flops.full = flops(models::AttentionCount::full);
  work.flops.causal = flops(models::AttentionCount::causal);
  work.peak = FlopsPerSecond(s.memory.operand < 2 ? s.device.narrow.peak : s.device.half.peak);
  return work;
}

void add_token_rates(JobResult& job)
{
  const TokenWork& work = *job.tokens;
  const Range rate = scaled(job.throughput, work.per_sample);
  job.tokens_per_s = rate;
  job.tokens_per_s_per_gpu = rate.median / job.gpus;
  const double steps_per_s = job.throughput.median / work.samples_per_step;
  const double full = work.flops.full.value() * steps_per_s / job.gpus; // FLOP/s of a GPU
  const double causal = work.flops.causal.value() * steps_per_s / job.gpus;
  job.model_tflops_per_gpu = {full / 1e12, causal / 1e12};
  const AttentionCounts share{full / work.peak.value(), causal / work.peak.value()};
  job.mfu = ModelUse{share, scaled(job.throughput, share.full / job.throughput.median)};
}

} // namespace foretrain::experiments
