// One GPU as a job's layers see it.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Rates, curves and launches at the job's precision, under this stack and framework. Throws
/// ConfigError at `at`, the job, for a precision that the GPU lacks or nobody trains in.
models::Device device_for(const platforms::PlatformSpec& platform, const platforms::Stack& stack,
                          const JobSpec& job, const models::Framework& framework, const Value& at);

/// What a step of the job's network computes on it.
models::ComputeProfile profile_of(const ResolvedJob& job, const models::Device& device);

} // namespace foretrain::experiments
