// A fleet's answer for people, and its jobs as tables for programs.
#pragma once

#include "experiments/fleet/fleet_answer.hpp"

#include <string>

namespace foretrain::experiments {

/// "12.5 %"
std::string percent_of(double fraction);

/// "2.5 h"
std::string duration_text(double seconds);

/// "131 jobs: 120 completed, 11 never started": what became of those of the first seed.
std::string jobs_text(const FleetAnswer& answer);

std::string fleet_table(const FleetAnswer& answer);

/// One row a job, in order of submission (docs/fleet.md).
std::string jobs_csv(const FleetRun& run);

/// The same in the Standard Workload Format.
std::string jobs_swf(const FleetRun& run, const FleetAnswer& answer);

} // namespace foretrain::experiments
