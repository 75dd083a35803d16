// Where the parameter servers of each job run.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Decides for each job whether it has parameter servers, and on which nodes. Expects the GPUs to
/// have been given out; servers apart take nodes without any of them, beyond the cluster's if need
/// be, up to the platform's max_nodes. `root`: the experiment file. Throws ConfigError.
void place_servers(ResolvedExperiment& experiment, const Value& root);

} // namespace foretrain::experiments
