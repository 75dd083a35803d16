#include "models/plans/plan_groups.hpp"

#include <algorithm>

namespace foretrain::models {

GroupLayout layout_of(PlanGroup group, const MemorySetting& setting)
{
  const ParallelPlan& plan = setting.plan;
  const int replicas = plan.context * setting.batch.data;
  switch (group) {
  case PlanGroup::tensor:
    return {plan.tensor, 1};
  case PlanGroup::context:
    return {plan.context, plan.tensor};
  case PlanGroup::heads:
    return {plan.context_heads, plan.tensor};
  case PlanGroup::ring:
    return {plan.context_parts(), plan.tensor * plan.context_heads};
  case PlanGroup::data:
    return {replicas, plan.tensor};
  case PlanGroup::shard:
    return {setting.weight_shards(), plan.tensor};
  case PlanGroup::across:
    return {replicas / setting.weight_shards(), plan.tensor * setting.weight_shards()};
  case PlanGroup::expert:
    return {plan.expert, plan.expert_tensor};
  case PlanGroup::expert_node: {
    const int local = std::max(1, setting.per_node / plan.expert_tensor);
    return {local < plan.expert && plan.expert % local == 0 ? local : 1, plan.expert_tensor};
  }
  case PlanGroup::expert_tensor:
    return {plan.expert_tensor, 1};
  case PlanGroup::expert_data:
    return {std::max(1, plan.tensor * replicas / (plan.expert * plan.expert_tensor)),
            plan.expert * plan.expert_tensor};
  }
  return {};
}

std::vector<std::vector<int>> groups_among(const GroupLayout& layout, int begin, int end)
{
  std::vector<std::vector<int>> groups;
  const int block = layout.count * layout.stride;
  // Firsts: ranks whose place within the block is before the stride.
  for (int at = begin; at + block <= end; at += block)
    for (int first = at; first < at + layout.stride; ++first) {
      groups.emplace_back();
      for (int i = 0; i < layout.count; ++i)
        groups.back().push_back(first + i * layout.stride);
    }
  return groups;
}

} // namespace foretrain::models
