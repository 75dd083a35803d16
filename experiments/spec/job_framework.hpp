// The framework that a job has on GPUs of a vendor.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// The job's framework, with the collective library that the job, else the framework, names. On
/// AMD's GPUs RCCL stands where the framework says NCCL. Throws ConfigError where the framework or
/// the job's library is one of other GPUs.
models::Framework framework_of(const JobSpec& job, const platforms::Gpu& gpu);

} // namespace foretrain::experiments
