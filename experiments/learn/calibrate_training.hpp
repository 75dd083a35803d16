// What training runs of realrun on CPU cores teach.
//
// Runs of one rank teach what computing costs: by their steps and, as parts of these, by their
// layers of each kind, so that the rate of memory is told by the update of the weights, that of
// products by linear layers, and so on. Nothing is simulated for them: their step is the sum of
// what its layers cost. Where their steps are followed badly with the platform's cache, another one
// is sought. Runs of several ranks teach what these pay to reduce gradients on one node; they are
// simulated like any other experiment (realrun_experiment.hpp). One fit, which begins where the
// runs of one rank alone want it, follows both.
#pragma once

#include "calibration/realrun_record.hpp"
#include "experiments/learn/calibrate_logs.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Returns the names of what was taught.
std::vector<std::string> teach_training(const std::vector<calibration::TrainingRecord>& records,
                                        Setup& setup);

/// Relative standard deviation of repeated measurements, at least 5 %.
double spread_of(const std::vector<double>& values);
double median_of(std::vector<double> values);

} // namespace foretrain::experiments
