// Whether NCCL's threads for sockets hold a job up.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

#include <string>

namespace foretrain::experiments {

/// A sentence where a job that waits for exchanges between nodes over sockets would be clearly
/// faster if NCCL had more threads for them (platforms/socket_threads.hpp): by how much, and the
/// variable that would say so; else "". Measured by short runs, up to 512 GPUs; `rate` is that of
/// the job as it is.
std::string remark_sockets(const ResolvedExperiment& experiment, std::size_t job, double rate,
                           const RunOptions& options, const JobResult& result);

} // namespace foretrain::experiments
