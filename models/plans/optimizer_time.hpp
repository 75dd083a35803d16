// How long a plan's optimizer takes.
#pragma once

#include "models/plans/step_setting.hpp"

namespace foretrain::models {

/// Of one GPU's share of `trained` parameters in so many layers: what it moves, and its launches.
OperatorTime optimizer_time(const StepSetting& setting, const PieceParameters& trained, int layers);

} // namespace foretrain::models
