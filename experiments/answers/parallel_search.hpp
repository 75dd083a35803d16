// The plans of a large model's job that take the least time: all that divide it are bounded, few
// are simulated.
#pragma once

#include "experiments/spec/resolved.hpp"
#include "models/plans/divided.hpp"

#include <vector>

namespace foretrain::experiments {

struct FoundPlan {
  models::MemorySetting memory; // with plan, micro-batches and recomputation
  models::PlanTime time;
};

struct FoundPlans {
  std::vector<FoundPlan> best; // at most as many as asked for, the quickest first
  int tried = 0;               // simulated
  int too_large = 0;           // did not fit
  int hopeless = 0;            // could not beat the best ones: bound by pieces and bubble
};

/// Of the first job, which must be a transformer's that has the machine to itself.
FoundPlans search_plans(const ResolvedExperiment& experiment, models::Fidelity fidelity, int top);

} // namespace foretrain::experiments
