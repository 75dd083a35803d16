// By what results of jobs are judged against each other.
#pragma once

#include "experiments/run/keep/result.hpp"

namespace foretrain::experiments {

/// Samples (tokens, where samples are made of them) per second: over the whole training where the
/// job says how long that is, else in the measured steps.
double judged_rate(const JobResult& job);

/// 1 where samples are not made of tokens.
double tokens_per_sample(const JobResult& job);

} // namespace foretrain::experiments
