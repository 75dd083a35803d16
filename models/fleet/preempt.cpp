#include "models/fleet/preempt.hpp"

#include <stdexcept>

namespace foretrain::models::fleet {

namespace {

struct PreemptionEntry {
  Preemption preemption;
  Preempt preempt;
};

constexpr PreemptionEntry kPreemptions[] = {
    {Preemption::none, &preempt_none},
    {Preemption::priority, &preempt_priority},
    {Preemption::quantum, &preempt_quantum},
};

} // namespace

Preempt preempt_by(Preemption preemption)
{
  for (const PreemptionEntry& entry : kPreemptions)
    if (entry.preemption == preemption)
      return entry.preempt;
  throw std::logic_error("a preemption without a function");
}

std::vector<JobId> preempt_none(const Scheduler&, const KeyNow&)
{
  return {};
}

} // namespace foretrain::models::fleet
