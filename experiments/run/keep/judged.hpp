// By what results of jobs (JSON as in docs/results.md) are judged against each other.
#pragma once

#include "sim/base/document.hpp"

namespace foretrain::experiments {

/// Whether the device holds what the job needs; true where the result does not say. What does not
/// fit is never the best.
bool fits(const Json& job);

/// Samples (tokens, where samples are made of them) per second: over the whole training where the
/// job says how long that is, else in the measured steps.
double judged_rate(const Json& job);

} // namespace foretrain::experiments
