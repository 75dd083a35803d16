// A divided transformer's step as a work program, for a machine that it shares with other jobs.
#pragma once

#include "models/plans/step.hpp"
#include "models/work_plan.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct DividedJob {
  std::string name;
  const StepSetting& setting;
  const StepResult& step; // as it is composed where nobody else is on the machine
  std::vector<int> nodes; // of each device
  std::vector<bool> busy; // of each node: others work there
};

/// One rank for each pipeline stage: the device whose node has others on it, if any has, stands for
/// the stage's. Computing takes what `step` says; exchanges are calls of the size that they have,
/// so that they take what the machine gives, and as much of them rides beside computing as in
/// `step`. Where a step has many calls, those of several layers are written as one, with a wait for
/// what they take longer one by one. `exchanges` tells that; `job` must outlive only the call.
sim::Program divided_program(const DividedJob& job, ExchangeTimes& exchanges);

/// The program with all that is known of it before it runs.
WorkPlan divided_plan(const DividedJob& job, ExchangeTimes& exchanges);

} // namespace foretrain::models
