// Logs in, a profile out: which parameters of which presets the measurements know, and how well.
#pragma once

#include "experiments/fit_task.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// What the logs do not say themselves: on which presets they were measured.
struct CalibrateOptions {
  std::string platform{}; // empty: logs that need one are refused
  std::string host = "bare-metal";
  std::string network{}; // empty: rdma where the platform has it, else tcp
  std::string library = "nccl";
  std::string disk{}; // preset; empty: the platform's first
  int gpus = 0;       // per node, for logs that do not say
  int nodes = 0;
  std::vector<std::string> profiles{}; // learnt earlier, to build on
};

struct Calibration {
  calibration::Profile profile;
  std::vector<std::string> notes;
};

/// Reads every log, recognises it by content, and fits. Throws ConfigError with file and line for
/// logs that are damaged or contradict the options, UsageError for options that are missing.
Calibration calibrate(const std::vector<std::string>& logs, const CalibrateOptions& options);

/// What calibrate() learnt, as a table for people.
std::string calibration_text(const Calibration& calibration);

} // namespace foretrain::experiments
