#include "experiments/spec/fitting_plan.hpp"

#include "models/plans/supported_plan.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Plans near to one that does not fit, of those that the framework's program has.
class Nearby {
public:
  Nearby(const models::MemorySetting& asked, const platforms::PlatformSpec& platform,
         const models::PlanLimits& limits)
      : asked_(asked), platform_(platform), limits_(limits)
  {
  }

  // The nearest one that fits, by the keys to set: the optimizer's state shared out, which costs
  // next to nothing, then more recomputation, then more sharing; "" where none does.
  std::string nearest() const
  {
    if (asked_.recompute == Recompute::full && asked_.treatments.repeated) {
      models::MemorySetting all = asked_;
      all.treatments.repeated.reset();
      if (plan_fits(all, platform_))
        return "recompute_layers left out, so that all are made anew";
    }
    const int asked = asked_.plan.zero;
    const int first = std::max(1, asked);
    for (const auto& [recompute, zero] : {std::pair(asked_.recompute, first),
                                          {Recompute::selective, asked},
                                          {Recompute::full, asked},
                                          {Recompute::selective, first},
                                          {Recompute::full, first},
                                          {Recompute::full, 2},
                                          {Recompute::full, 3}})
      for (const bool sequence : {asked_.plan.sequence_parallel, asked_.plan.tensor > 1})
        if (const auto keys = with(recompute, zero, asked_.plan.tensor, sequence))
          return *keys;
    for (int zero = asked; zero <= 3; ++zero)
      for (int tensor = 2 * asked_.plan.tensor; tensor <= platform_.gpus_per_node(); tensor *= 2)
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full})
          if (const auto keys = with(recompute, zero, tensor, true))
            return *keys;
    return "";
  }

private:
  using Recompute = models::Recompute;

  // The keys of that plan; nothing where it is less than what was asked for, is not to be had, or
  // does not fit.
  std::optional<std::string> with(Recompute recompute, int zero, int tensor, bool sequence) const
  {
    models::MemorySetting s = asked_;
    std::vector<std::string> keys;
    const auto set = [&](auto& value, auto to, std::string key) {
      if (value != to)
        keys.push_back(std::move(key));
      value = to;
    };
    if (recompute < s.recompute || zero < s.plan.zero || sequence < s.plan.sequence_parallel)
      return {};
    set(s.plan.tensor, tensor, fmt::format("\"tensor\": {}", tensor));
    set(s.plan.sequence_parallel, sequence, "\"sequence_parallel\": true");
    set(s.plan.zero, zero, fmt::format("\"zero\": {}", zero));
    set(s.recompute, recompute,
        recompute == Recompute::full ? "\"recompute\": \"full\"" : "\"recompute\": \"selective\"");
    const models::PlannedBatch& b = asked_.batch;
    const std::string lacks = models::unsupported(limits_, s.plan);
    const bool had = lacks.empty() || lacks == models::unsupported(limits_, asked_.plan);
    if (keys.empty() || !had ||
        !models::problem_of(s.model, s.plan, b.gpus, b.sequence, b.micro_batch, b.global_batch)
             .empty())
      return {};
    s.batch = models::planned_batch(s.plan, b, b.micro_batch);
    return plan_fits(s, platform_) ? std::optional(joined(keys)) : std::nullopt;
  }

  const models::MemorySetting& asked_;
  const platforms::PlatformSpec& platform_;
  const models::PlanLimits& limits_;
};

} // namespace

bool plan_fits(const models::MemorySetting& setting, const platforms::PlatformSpec& platform)
{
  return models::fullest_stage(setting).second.total() <= platform.gpu.memory;
}

std::string why_not_fitting(const TransformerSetting& setting, const std::string& job,
                            const platforms::PlatformSpec& platform,
                            const models::PlanLimits& limits)
{
  const auto [stage, memory] = models::fullest_stage(setting.step.memory);
  if (plan_fits(setting.step.memory, platform))
    return "";
  const std::string plan = Nearby(setting.step.memory, platform, limits).nearest();
  return fmt::format(
      "{}: does not fit: stage {} needs about {} of device memory, beside what the allocator loses "
      "between blocks, a {} has {}; {}",
      job, stage, to_text(memory.total()), platform.gpu.name, to_text(platform.gpu.memory),
      plan.empty()
          ? "no recomputation or sharing of this plan would fit (foretrain tune tries others)"
          : "this would fit: " + plan);
}

} // namespace foretrain::experiments
