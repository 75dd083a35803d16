// Jobs whose model holds recorded kernel times (foretrain model import).
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Takes from the recording what the job does not say: its batch and, where the platform's GPU has
/// it, its precision.
void take_as_recorded(ResolvedJob& job, const platforms::PlatformSpec& platform, const Value& at);

/// The recorded times on the platform's GPU: as they are on the GPU that was recorded, else scaled
/// by the ratio of the rooflines of each class of kernels. Throws ConfigError when the recording's
/// GPU is no preset or lacks the precision.
models::ComputeProfile measured_profile_of(const ResolvedJob& job,
                                           const platforms::PlatformSpec& platform,
                                           const platforms::Stack& stack, const Value& at);

/// Sets the job's profile, and the framework's host time and variation as they were recorded. Adds
/// warnings for all that is extrapolated.
void use_measured_times(ResolvedJob& job, const platforms::PlatformSpec& platform, const Value& at);

/// Writes a job whose recording holds exchanges as a program that runs them on all its GPUs; does
/// nothing where there are none, or one GPU. Throws ConfigError for jobs with an input and for
/// numbers of GPUs that the recorded groups do not divide.
void use_recorded_exchanges(ResolvedJob& job, const platforms::PlatformSpec& platform,
                            const Value& at);

} // namespace foretrain::experiments
