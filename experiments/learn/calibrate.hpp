// Logs in, a profile out: which parameters of which presets the measurements know, and how well.
#pragma once

#include "experiments/learn/calibrate_logs.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

struct Calibration {
  calibration::Profile profile;
  std::vector<FitCheck> checks; // of each fit
  std::vector<std::string> notes;

  /// Whether the profile is empty because what the logs teach is no better than the presets.
  bool withholds() const;
};

/// Reads every log, recognises it by content, and fits. Throws ConfigError with file and line for
/// logs that are damaged or contradict the options, UsageError for options that are missing.
Calibration calibrate(const std::vector<std::string>& logs, const CalibrateOptions& options);

/// What calibrate() learnt, as a table for people.
std::string calibration_text(const Calibration& calibration);

} // namespace foretrain::experiments
