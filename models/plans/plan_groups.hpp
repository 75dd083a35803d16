// Which of a job's GPUs exchange with each other under a parallel plan.
#pragma once

#include "models/plans/step_setting.hpp"

#include <vector>

namespace foretrain::models {

/// Ranks of a group: first + i x stride.
struct GroupLayout {
  int count = 1;
  int stride = 1;
  auto operator<=>(const GroupLayout&) const = default;
};

GroupLayout layout_of(PlanGroup group, const MemorySetting& setting);

/// Every group of that layout among ranks `begin` to `end`, a whole number of its blocks.
std::vector<std::vector<int>> groups_among(const GroupLayout& layout, int begin, int end);

} // namespace foretrain::models
