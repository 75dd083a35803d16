// Result logs of MLPerf Training: lines ":::MLLOG {...}" of mlperf_logging, among whatever else was
// printed.
#pragma once

#include "sim/base/units.hpp"

#include <string>
#include <vector>

namespace foretrain::calibration {

struct MlperfLog {
  std::string benchmark; // "resnet"
  std::string submitter; // "" where not told, as below
  std::string platform;
  std::string status;       // of run_stop: "success", "aborted"; "" for a run that was cut off
  double global_batch = 0;  // samples of a step over all GPUs; 0: not told
  double train_samples = 0; // of an epoch; 0: not told
  std::vector<double> throughput; // samples/s, each time the program printed it
  std::vector<Seconds> epochs;    // from epoch_start to epoch_stop
  std::vector<Seconds> blocks;    // an epoch's part of block_start to block_stop, less evaluation
  bool operator==(const MlperfLog&) const = default;
};

/// Throws ConfigError with file and line.
MlperfLog read_mlperf(const std::string& text, const std::string& name);

/// The median of what was printed, else samples of an epoch by the median epoch's time, else by
/// that of the blocks' epochs. Throws ConfigError where the log tells none.
double samples_per_second(const MlperfLog& log, const std::string& name);

} // namespace foretrain::calibration
