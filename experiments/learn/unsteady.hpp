// Whether a machine was equally fast in all runs that are to teach one profile.
#pragma once

#include "calibration/realrun_record.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// A sentence for each kind of model whose runs did the same arithmetic at speeds more than 5 %
/// apart: no profile follows them all. The measure is an elementary function (gelu) of one sample
/// and block in its quickest step; runs without one tell nothing.
std::vector<std::string> unsteady(const std::vector<calibration::TrainingRecord>& records);

} // namespace foretrain::experiments
