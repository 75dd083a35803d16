#include "models/plans/supported_plan.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

std::string unsupported(const PlanLimits& limits, const ParallelPlan& plan)
{
  const std::string schedule = word_of(plan.schedule);
  if (plan.pipeline > 1 && limits.schedules.empty())
    return "pipeline stages";
  if (plan.pipeline > 1 && std::ranges::find(limits.schedules, schedule) == limits.schedules.end())
    return fmt::format("schedule {} (it has {})", schedule, joined(limits.schedules));
  const auto lacks_zero = [&](const std::vector<int>& has, const char* where) -> std::string {
    if (std::ranges::find(has, plan.zero) != has.end())
      return "";
    std::vector<std::string> stages;
    for (const int zero : has)
      stages.push_back(std::to_string(zero));
    return fmt::format("ZeRO {}{} (it has {})", plan.zero, where,
                       stages.empty() ? "none" : joined(stages));
  };
  if (plan.zero > 0)
    if (std::string lacks = lacks_zero(limits.zero, ""); !lacks.empty())
      return lacks;
  if (plan.shard == ZeroShard::node)
    if (std::string lacks = lacks_zero(limits.zero_of_node, " within nodes"); !lacks.empty())
      return lacks;
  if (plan.pipeline > 1 && plan.zero > limits.zero_in_pipeline)
    return fmt::format("ZeRO {} with pipeline stages (it has up to {})", plan.zero,
                       limits.zero_in_pipeline);
  if (plan.tensor > 1 && !limits.tensor)
    return "tensor parallelism";
  if (plan.context_parts() > 1 && !limits.context_rings)
    return limits.context_heads ? "context parallelism by keys and values (it has context_heads: "
                                  "as many as share a sequence)"
                                : "context parallelism";
  if (plan.context_heads > 1 && !limits.context_heads)
    return "context parallelism by heads";
  return "";
}

} // namespace foretrain::models
