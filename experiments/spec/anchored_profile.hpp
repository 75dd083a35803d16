// What a measured rate makes of the computed time of kernels.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// The profile as the anchor of one GPU stretches it: measured on bare metal, what the host layer
/// adds comes on top. Throws ConfigError at `at`, the job, where the anchor leaves no time.
void apply_anchor(ResolvedJob& job, const ResolvedExperiment& e, const Value& at);

/// The profile as the anchor of one GPU stretches that of the same job `then`, before a sweep or
/// --set changed it.
void take_anchor_of(ResolvedJob& job, const ResolvedExperiment& e, const ResolvedExperiment& then);

/// An anchor that was found by runs: what it fixed, and what it left.
void tell_anchor(ResolvedJob& job);

} // namespace foretrain::experiments
