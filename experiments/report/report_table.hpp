// A result as the table a terminal shows: one line per point and job, then what limits it, what it
// means, and warnings.
#pragma once

#include "experiments/report/text_table.hpp"
#include "experiments/run/keep/result.hpp"

#include <string>

namespace foretrain::experiments {

struct TableStyle {
  std::size_t columns = kTextColumns;
  bool colour = false; // escape sequences for terminals
};

std::string report_table(const ExperimentResult& result, const TableStyle& style = {});

} // namespace foretrain::experiments
