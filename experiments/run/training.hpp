// The whole training of a job: time and money.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Fills `training`, `days` and `cost` of a job that says how long its training is, from its
/// throughput: the first pass over the data set at the measured one, what follows at that of later
/// epochs; with start-up. GPUs are paid for all of that time. `of_steps`: the range of throughput
/// by what single steps vary, which many of them make up for.
void add_training(const ResolvedExperiment& experiment, std::size_t job, const Range& of_steps,
                  JobResult& result);

} // namespace foretrain::experiments
