// When jobs start in the simulation: as asked, without the hours in which nothing changes.
#pragma once

#include "experiments/spec/resolve.hpp"

#include <vector>

namespace foretrain::experiments {

/// A job that starts more than a minute after the one before it starts a minute after it: by then
/// every step of those that run is like the next one, and steps count only once all have started.
/// After a job that leaves (`ends`) starts stay as they are: it may have left by then, or not.
std::vector<Seconds> simulated_starts(const ResolvedExperiment& experiment);

/// What the job's time from `from` to `to` in the simulation is, with what was left out of it.
Seconds asked_time(const ResolvedExperiment& experiment, Seconds from, Seconds to);

} // namespace foretrain::experiments
