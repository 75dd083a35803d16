// Which knobs of a task its measurements know, and at which values.
//
// Of links in a row the tightest alone shows, so that a fit that begins at the presets finds a
// slower link only where it was the tightest before. Where the measurements gain by it, fits also
// begin with each of the others as the limit, and the best one is taken.
#pragma once

#include "calibration/least_squares.hpp"
#include "experiments/learn/fit_bench.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// By measurement: whether the fit may use it.
using Seen = std::vector<bool>;

/// The knobs that the measurements know, fitted, and those they do not.
struct KnownFit {
  std::vector<std::size_t> knobs;
  calibration::Fit fit;
  std::vector<calibration::ProfileRefusal> refused;
};

KnownFit fit_known(const FitTask& task, const FitBench& bench, const Seen& seen);

} // namespace foretrain::experiments
