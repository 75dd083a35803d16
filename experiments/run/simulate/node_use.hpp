// How busy the parts and links of a node are.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "platforms/machine.hpp"

namespace foretrain::experiments {

/// Of one node, by all jobs, while this job is measured.
NodeUse node_use(const sim::Engine& engine, const platforms::Machine& machine,
                 const models::Job& job, int node);

} // namespace foretrain::experiments
