#include "experiments/run/keep/judged.hpp"

namespace foretrain::experiments {

double judged_rate(const JobResult& job)
{
  const double samples = job.throughput.median;
  const double rate = job.tokens_per_s ? job.tokens_per_s->median : samples;
  if (!job.training || !(samples > 0))
    return rate;
  const double total = job.training->total.value();
  const double whole = job.training->samples;
  return total > 0 && whole > 0 ? rate / samples * whole / total : rate;
}

double tokens_per_sample(const JobResult& job)
{
  return job.tokens_per_s && job.throughput.median > 0
             ? job.tokens_per_s->median / job.throughput.median
             : 1;
}

} // namespace foretrain::experiments
