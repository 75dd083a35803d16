// Keys of a job that its kind does not read: a number that is taken in silence and changes nothing
// looks like a result.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// A warning that lists the keys of a job's input that have no influence, or "".
std::string idle_keys_of_input(const JobSpec& spec);

/// The same of keys about training, of a job of inference.
std::string idle_keys_of_inference(const JobSpec& spec, const Value& job);

/// The same of a transformer's job.
std::string idle_keys_of_transformer(const JobSpec& spec, const Value& job);

/// The same of a job that is not a transformer's: refuses a parallel plan and precisions of
/// transformers only.
std::string idle_keys_of_other(const JobSpec& spec, const Value& job);

/// Likewise of a job with a program.
std::string idle_keys_of_program(const JobSpec& spec, const Value& job);

} // namespace foretrain::experiments
