// How long a training is, and what it costs: said once, for every command.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Refuses a job that says how long its training is in two ways. Throws ConfigError.
void check_training_length(const JobSpec& job, const Value& at);

/// Samples of the whole training; empty where the job does not say how long that is.
/// `samples_per_step`: of all its GPUs.
std::optional<double> samples_of_training(const ResolvedJob& job, double samples_per_step);

/// Samples of a step of all the job's GPUs.
double samples_of_step(const ResolvedJob& job);

/// What a GPU of a platform costs for an hour, where that is said; `named`: the platform as the
/// file says it, `platform` its name. Throws ConfigError when prices are told by platform, and this
/// one is not among them.
std::optional<double> price_per_gpu_hour(const Value& price, const Value& named,
                                         const std::string& platform);

/// Warnings for prices that tell nothing, of jobs without a length, and for so many measured steps
/// that the length is what was meant.
void add_length_warnings(ResolvedExperiment& experiment);

} // namespace foretrain::experiments
