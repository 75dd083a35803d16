// What jobs lose by sharing a machine, and on which resource.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "models/training/job.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace foretrain::experiments {

struct Limited {
  sim::Resource resource;
  double per_step = 0; // seconds, over all ranks of a job
};
/// How long each resource, by name, limited something a job did.
using LimitedPerStep = std::map<std::string, Limited>;
LimitedPerStep limited_per_step(const models::Job& job, const sim::Engine& engine);

/// The resource that limits a job of `ranks` GPUs longer than when it has the machine to itself, of
/// those that others may use, or none when nothing does. Of what runs beside the step a limit may
/// last longer than the step has `grown`: that much is told at most.
std::optional<Meeting> meeting_resource(const LimitedPerStep& together, const LimitedPerStep& alone,
                                        int ranks, Seconds grown,
                                        const std::function<bool(const sim::Resource&)>& shared);

/// Of jobs whose slowdown is known. Where all their ranges are, its own holds all of them at their
/// lower ends together, and at their upper ones: most of what is not known is the same machine's.
JointScore joint_score(const std::vector<JobResult>& jobs);

} // namespace foretrain::experiments
