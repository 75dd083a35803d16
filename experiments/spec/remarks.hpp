// Resolved experiments looked over before they run: what is easily overlooked.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Warns of what moves a step most, where the job at `at` and its framework do not say it.
void remark_untold(ResolvedJob& job, const Value& at, const platforms::Gpu& gpu);

/// Whether a framework's code is older than the GPU's architecture.
bool predates(const models::Framework& framework, const platforms::Gpu& gpu);

/// Adds to the jobs' warnings: GPUs and limits that ask for more memory or cores than there are,
/// and networks over a slow adapter beside a fast one.
void add_remarks(ResolvedExperiment& experiment);

} // namespace foretrain::experiments
