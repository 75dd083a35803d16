// Plans of divided transformers that run beside other jobs, as work programs.
#pragma once

#include "experiments/run/result.hpp"
#include "experiments/spec/large_job.hpp"
#include "experiments/spec/resolve.hpp"

namespace foretrain::experiments {

/// Resolves a point and writes the plans of its divided models' jobs: how much of an exchange rides
/// beside computing follows from what it takes on the machine, which is simulated here. Throws what
/// resolve does.
ResolvedExperiment ready_to_run(const Point& point, models::Fidelity fidelity);

/// The plan of a transformer's job that has the machine to itself.
models::WorkPlan plan_of(const LargeExperiment& experiment, models::Fidelity fidelity);

} // namespace foretrain::experiments
