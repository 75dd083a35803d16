#include "models/training/work_plan.hpp"

namespace foretrain::models {

Bytes memory_of(const WorkPlan& plan)
{
  Bytes sum;
  for (const MemoryPart& part : plan.memory)
    sum += part.size;
  return sum;
}

} // namespace foretrain::models
