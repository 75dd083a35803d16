// A transformer's step as a work program.
#pragma once

#include "models/plans/step.hpp"
#include "models/training/work_plan.hpp"
#include "sim/workload/accountant.hpp"

#include <optional>
#include <vector>

namespace foretrain::models {

/// Other jobs on the machine.
struct Neighbours {
  std::vector<int> nodes; // of each device of the job
  std::vector<bool> busy; // of each node: others work there
};

/// One rank for each pipeline stage: the device whose node has others on it, if any has, stands for
/// the stage's. Computing takes what `step` says, exchanges are calls with their sizes and what
/// they take alone; as much of them rides beside computing as the framework lets. Where a step has
/// many operations, those of several layers are written as one. `neighbours`: groups list those of
/// their sets that others can meet; none: those that share a way with each other. With `sets` false
/// groups list nobody, which is enough to evaluate the program.
sim::Program divided_program(const StepSetting& setting, const PlannedStep& step,
                             ExchangeTimes& exchanges, const Neighbours* neighbours, bool sets);

/// The program with all that is known of it before it runs.
struct DividedPlan {
  WorkPlan work;
  std::optional<PipelineSetting> pipeline; // where stages follow each other
};
DividedPlan divided_plan(const StepSetting& setting, ExchangeTimes& exchanges,
                         const Neighbours* neighbours, bool sets);

/// A step of a plan on GPUs of average luck, where nobody else is on the machine.
struct PlanTime {
  Seconds step;
  sim::StepShares shares; // mean of the devices
};
PlanTime time_of_plan(const StepSetting& setting, ExchangeTimes& exchanges);

} // namespace foretrain::models
