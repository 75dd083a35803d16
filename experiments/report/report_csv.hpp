// A result as CSV (RFC 4180): one line per point and job, for spreadsheets and data frames.
#pragma once

#include "experiments/run/keep/result.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Fields as one line, quoted where needed.
std::string csv_line(const std::vector<std::string>& fields);

/// Columns: point (from 1), the settings' pointers, then docs/results.md's names with units. They
/// are the same for every result but for the settings.
std::string report_csv(const ExperimentResult& result);

} // namespace foretrain::experiments
