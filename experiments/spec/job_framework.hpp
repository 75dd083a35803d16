// The framework that a job has on GPUs of a vendor.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// The job's framework, with the collective library that the job, else the framework, names. On
/// AMD's GPUs RCCL stands where the framework says NCCL. Throws ConfigError where the framework or
/// the job's library is one of other GPUs.
models::Framework framework_of(const JobSpec& job, const platforms::Gpu& gpu);

/// What its process takes before kernels on this host. Casts and checks are those of half precision
/// on tensor cores.
std::optional<models::HostLaunches> launches_of(const models::Framework& framework,
                                                const platforms::Gpu& gpu,
                                                const platforms::Host& host,
                                                sim::Precision precision);

} // namespace foretrain::experiments
