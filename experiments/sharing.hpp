// What jobs lose by sharing a machine, and on which resource.
#pragma once

#include "experiments/result.hpp"
#include "models/training_job.hpp"

#include <map>
#include <optional>
#include <string>

namespace foretrain::experiments {

/// Seconds per step that each resource, by name, limited something a job did, over all its ranks.
using LimitedPerStep = std::map<std::string, double>;
LimitedPerStep limited_per_step(const models::TrainingJob& job, const sim::Engine& engine);

/// The resource that limits a job of `ranks` GPUs longer than when it has the machine to itself, or
/// none when nothing does.
std::optional<Meeting> meeting_resource(const LimitedPerStep& together, const LimitedPerStep& alone,
                                        int ranks);

} // namespace foretrain::experiments
