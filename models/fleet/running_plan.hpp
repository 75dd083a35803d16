// A plan of those who run: what is free from when on if each takes as long as it may.
#pragma once

#include "models/fleet/plan_profile.hpp"

namespace foretrain::models::fleet {

/// A job that runs for longer than was expected is expected to end in this time.
inline constexpr Seconds kOverdue{1};

/// Until when a plan counts on a job to run.
Seconds runs_until(const Scheduler& scheduler, const Ending& ending);

/// With nodes that are out of service and come back, and those that will be.
PlanProfile running_plan(const Scheduler& scheduler);

/// Where a waiting job would start: what its plan says first.
Slot earliest_in(const PlanProfile& plan, const Scheduler& scheduler, JobId id);
/// The same of some times before its reservation, as though that was given back.
Slot earlier_in(const PlanProfile& plan, const Scheduler& scheduler, JobId id, const Slot& own,
                TimeSpan starts);

/// Notes why a job that has a later start does not start now.
void blame_plan(Scheduler& scheduler, JobId id);

} // namespace foretrain::models::fleet
