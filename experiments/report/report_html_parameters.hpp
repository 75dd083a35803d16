// The HTML report's parameters, settings and warnings.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

/// Effective parameters with their sources; what differs between points is told apart.
std::string parameters_section(const Report& report);

/// What was swept, and the experiment where the result holds it, as JSON.
std::string settings_section(const Report& report);

/// Warnings and failed points, or nothing.
std::string warnings_box(const Report& report);

} // namespace foretrain::experiments
