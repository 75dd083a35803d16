// Parts of a plan's step by their names, mean of the devices.
#pragma once

#include "models/plans/divided.hpp"

namespace foretrain::test {

struct PlanParts {
  Seconds step;
  Seconds compute, recompute, optimizer;
  Seconds tensor, context, expert, pipeline, data; // exposed exchanges
  Seconds bubble, straggler, framework;
};

inline PlanParts parts_of_plan(const models::StepSetting& setting, models::ExchangeTimes& times)
{
  const models::PlanTime time = models::time_of_plan(setting, times);
  const auto busy = [&](sim::Phase phase) {
    return time.shares.busy[static_cast<std::size_t>(phase)];
  };
  const auto exposed = [&](sim::Phase phase) {
    return time.shares.exposed[static_cast<std::size_t>(phase)];
  };
  using enum sim::Phase;
  return {time.step,
          busy(forward) + busy(backward),
          busy(recompute),
          busy(optimizer),
          exposed(tensor),
          exposed(context),
          exposed(expert),
          exposed(pipeline),
          exposed(data),
          time.shares.bubble,
          time.shares.straggler,
          time.shares.framework};
}

} // namespace foretrain::test
