// Whether the collective library takes the slower algorithm.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

#include <string>

namespace foretrain::experiments {

/// A sentence where another algorithm than the one that the library takes would make a job that
/// waits for its all-reduces clearly faster: by how much, and the variable that would say so; else
/// "". Measured by short runs, up to 512 GPUs; `rate` is that of the job as it is.
std::string remark_algorithm(const ResolvedExperiment& experiment, std::size_t job, double rate,
                             const RunOptions& options, const JobResult& result);

} // namespace foretrain::experiments
