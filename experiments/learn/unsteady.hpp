// Whether a machine was equally fast in all runs that are to teach one profile.
#pragma once

#include "calibration/realrun_record.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Brings runs of each kind of model that did the same arithmetic at speeds more than 5 % apart to
/// the median speed: all of a run's times change in proportion, its throughput inversely. The
/// measure is an elementary function (gelu) of one sample and block in its quickest step; runs
/// without one stay as they are. Returns a sentence for each such kind.
std::vector<std::string> to_one_speed(std::vector<calibration::TrainingRecord>& records);

} // namespace foretrain::experiments
