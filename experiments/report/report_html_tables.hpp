// The tables of the HTML report: what limits each point, what each scaling step brings, all
// numbers.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

std::string limits_section(const Report& report);
std::string scaling_section(const Report& report);
std::string numbers_section(const Report& report);

} // namespace foretrain::experiments
