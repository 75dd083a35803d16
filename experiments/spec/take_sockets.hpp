// Software that knows sockets alone, on a machine whose adapters could do more.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Gives each job whose exchange between nodes speaks TCP only the transport that the stack's RDMA
/// names for that ("sockets"), over the same adapters, and tells so in the job's warnings. Expects
/// parameter servers to have been placed. Throws ConfigError.
void take_sockets(ResolvedExperiment& experiment);

} // namespace foretrain::experiments
