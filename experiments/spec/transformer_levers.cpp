#include "experiments/spec/transformer_levers.hpp"

namespace foretrain::experiments {

namespace {

template <class Change>
void change(ResolvedJob& job, const Change& change)
{
  if (!job.transformer)
    return;
  auto setting = std::make_shared<TransformerSetting>(*job.transformer);
  change(setting->step);
  job.transformer = std::move(setting);
}

} // namespace

void faster_kernels(ResolvedJob& job, double factor)
{
  change(job, [&](models::StepSetting& s) { s.device.quicken(factor); });
}

void quicker_host(ResolvedJob& job, double factor)
{
  change(job, [&](models::StepSetting& s) {
    if (s.device.launches)
      s.device.launches->quicken(factor);
    models::TransformerRules& rules = s.rules;
    for (Seconds* time : {&rules.host_per_exchange, &rules.host_per_micro_batch,
                          &rules.host_per_shard, &rules.host_per_routing, &rules.host_per_expert})
      *time *= 1 / factor;
  });
}

void leaner_host(ResolvedJob& job, double factor)
{
  quicker_host(job, factor);
  change(job, [&](models::StepSetting& s) { s.overhead *= 1 / factor; });
}

void faster_host_memory(ResolvedJob& job, double factor)
{
  change(job, [&](models::StepSetting& s) { s.host_memory *= factor; });
}

void faster_host_link(ResolvedJob& job, double factor)
{
  change(job, [&](models::StepSetting& s) { s.host_link *= factor; });
}

void steadier_kernels(ResolvedJob& job, double factor)
{
  change(job, [&](models::StepSetting& s) {
    s.variation /= factor;
    s.speed_variation /= factor;
  });
}

} // namespace foretrain::experiments
