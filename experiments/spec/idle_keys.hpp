// Keys of a job that its kind does not read: a number that is taken in silence and changes nothing
// looks like a result.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// Refuses what a transformer's job cannot be (inference, parameter servers) and returns a warning
/// that lists the given keys without influence, or "". Throws ConfigError at `job`, the job in its
/// experiment.
std::string idle_keys_of_transformer(const JobSpec& spec, const Value& job);

/// The keys without influence on a divided transformer that runs beside other jobs, or "".
std::string idle_keys_of_divided(const JobSpec& spec, const Value& job);

/// The same of a job that is not a transformer's: refuses a parallel plan and precisions of
/// transformers only.
std::string idle_keys_of_other(const JobSpec& spec, const Value& job);

} // namespace foretrain::experiments
