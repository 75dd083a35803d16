#include "experiments/spec/anchor.hpp"

#include "experiments/spec/transformer_setting.hpp"

namespace foretrain::experiments {

int anchor_gpus(const JobSpec& job)
{
  return job.anchor->gpus.value_or(has_transformer(job) ? job.gpus : 1);
}

bool anchored_by_runs(const JobSpec& job)
{
  return job.anchor && !job.program && (has_transformer(job) || anchor_gpus(job) > 1);
}

} // namespace foretrain::experiments
