// The HTML report's drawing of throughput over what was swept.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

/// Curves along numbers, bars for words; empty for a single row.
std::string throughput_section(const Report& report);

} // namespace foretrain::experiments
