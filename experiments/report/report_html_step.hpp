// The HTML report's drawing of where the time of a step goes.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

/// One stacked bar per point and job; empty if no row has times.
std::string step_section(const Report& report);

} // namespace foretrain::experiments
