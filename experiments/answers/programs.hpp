// The jobs of a point as work programs, for people and other tools.
#pragma once

#include "experiments/spec/experiment.hpp"

#include <string>

namespace foretrain::experiments {

/// {"point": n, "settings": {...}, "jobs": [program, ...]}. Data-parallel jobs are told as the
/// program that does the same (models/plans/data_parallel.hpp); those with parameter servers have
/// none and say so. Throws UsageError when there is no such point, ConfigError as resolve() does.
Json programs_of(const LoadedExperiment& experiment, int point);

/// The same as a table: ranks, groups, and what operations add up to by kind and phase.
std::string program_text(const Json& programs);

} // namespace foretrain::experiments
