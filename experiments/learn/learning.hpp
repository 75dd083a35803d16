// What fits teach, task by task, and whether it is better than the presets.
#pragma once

#include "experiments/learn/fit_task.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Presets against what was learnt, on measurements that the fit did not see where those that it
/// saw teach the same parameters, else on all.
struct FitCheck {
  std::string source;
  int measurements = 0;
  bool held_back = false;
  double presets = 0; // mean relative error
  double profile = 0;
  double missed = 0;       // factor by which the profile misses the largest of a series, less 1
  std::string largest{};   // which that is, and by what
  std::string objection{}; // why it is not kept unasked; empty: it is
};

/// Why a fit with these mean errors is not to be kept; "" where it is. On what it has seen it must
/// be no worse than the presets at all, on what was held back by no more than the scatter there.
std::string objection_to(const FitCheck& check);

/// What has been learnt so far. Each task sees what the ones before it learnt.
struct Learning {
  Profiles profiles; // earlier ones, then what was learnt
  calibration::Profile learnt;
  std::vector<FitCheck> checks;
  bool judging = true; // what is no better than the presets is not kept,
  bool force = false;  // unless that is asked for

  /// Fits a task. Parameters that the measurements do not know keep the preset's value, and the
  /// others are fitted again with it, so that the profile alone gives the fitted times. What is no
  /// better than the presets, or half off, or objected to, is refused. Returns the
  /// names of what it taught ("gpu v100-sxm2-16gb /memory_efficiency").
  std::vector<std::string> learn(const FitTask& task);
  void refuse(const std::string& parameter, const std::string& reason,
              const std::string& measurement);
};

} // namespace foretrain::experiments
