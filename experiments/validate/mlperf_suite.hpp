// A suite from result logs of MLPerf Training: the runs of one submission are repetitions of one
// row.
#pragma once

#include "calibration/mlperf_log.hpp"
#include "sim/base/document.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

struct NamedMlperfLog {
  std::string path;
  calibration::MlperfLog log;
};

struct MlperfOptions {
  std::string experiment; // that should predict it: a bundled one or a path
  std::string regime;
  int gpus = 0; // of the whole run, which the logs do not tell
};

/// A foretrain.suite/1. Throws ConfigError for logs of different systems, for a batch that the GPUs
/// do not share evenly and where no rate is told.
Json mlperf_suite(const std::vector<NamedMlperfLog>& logs, const MlperfOptions& options);

} // namespace foretrain::experiments
