#include "experiments/spec/fitting_plan.hpp"

#include "sim/base/quantity_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

const char* asked(models::Recompute recompute)
{
  return recompute == models::Recompute::full ? "\"recompute\": \"full\""
                                              : "\"recompute\": \"selective\"";
}

// More recomputation, alone or beside the sharing that is asked for.
std::string with_recomputation(models::MemorySetting s, const platforms::PlatformSpec& platform)
{
  for (const auto recompute : {models::Recompute::selective, models::Recompute::full})
    if (recompute > s.recompute) {
      s.recompute = recompute;
      if (plan_fits(s, platform))
        return asked(recompute);
    }
  return "";
}

// The plan nearest to the one asked for that fits: the optimizer's state shared out, which costs
// next to nothing, then more recomputation, then more sharing.
std::string fitting(models::MemorySetting s, const platforms::PlatformSpec& platform)
{
  if (s.recompute == models::Recompute::full && s.treatments.repeated) {
    s.treatments.repeated.reset();
    if (plan_fits(s, platform))
      return "recompute_layers left out, so that all are made anew";
  }
  models::MemorySetting shared = s;
  shared.plan.zero = std::max(1, s.plan.zero);
  const bool shares_more = shared.plan.zero > s.plan.zero;
  if (shares_more && plan_fits(shared, platform))
    return "\"zero\": 1";
  if (std::string alone = with_recomputation(s, platform); !alone.empty())
    return alone;
  if (shares_more)
    if (const std::string beside = with_recomputation(shared, platform); !beside.empty())
      return "\"zero\": 1 and " + beside;
  s.recompute = std::max(s.recompute, models::Recompute::full);
  const models::MemorySetting repeated = s;
  for (int zero = shared.plan.zero + 1; zero <= 3; ++zero) {
    s.plan.zero = zero;
    if (plan_fits(s, platform))
      return fmt::format("full recomputation and \"zero\": {}", zero);
  }
  for (int zero = repeated.plan.zero; zero <= 3; ++zero)
    for (int tensor = 2 * repeated.plan.tensor; tensor <= platform.gpus_per_node(); tensor *= 2) {
      s = repeated;
      s.plan.zero = zero;
      s.plan.tensor = tensor;
      s.plan.sequence_parallel = true;
      const auto& b = repeated.batch;
      if (!models::problem_of(s.model, s.plan, b.gpus, b.sequence, b.micro_batch, b.global_batch)
               .empty())
        continue;
      s.batch = models::planned_batch(s.plan, b, b.micro_batch);
      if (plan_fits(s, platform))
        return fmt::format("full recomputation{} and \"tensor\": {}",
                           zero > repeated.plan.zero ? fmt::format(", \"zero\": {}", zero) : "",
                           tensor);
    }
  return "";
}

} // namespace

bool plan_fits(const models::MemorySetting& setting, const platforms::PlatformSpec& platform)
{
  return models::fullest_stage(setting).second.total() <= platform.gpu.memory;
}

std::string why_not_fitting(const TransformerSetting& setting, const std::string& job,
                            const platforms::PlatformSpec& platform)
{
  const auto [stage, memory] = models::fullest_stage(setting.step.memory);
  if (plan_fits(setting.step.memory, platform))
    return "";
  const std::string plan = fitting(setting.step.memory, platform);
  return fmt::format(
      "{}: does not fit: stage {} needs about {} of device memory, beside what the allocator loses "
      "between blocks, a {} has {}; {}",
      job, stage, to_text(memory.total()), platform.gpu.name, to_text(platform.gpu.memory),
      plan.empty()
          ? "no recomputation or sharing of this plan would fit (foretrain tune tries others)"
          : "this would fit: " + plan);
}

} // namespace foretrain::experiments
