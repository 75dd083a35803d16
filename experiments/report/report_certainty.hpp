// How sure the answers are: which parameters the intervals come from, and which point is faster.
#pragma once

#include "experiments/report/report_html_rows.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Sentences for the best point of each job; none where intervals hold no parameters.
std::vector<std::string> certainty(const Report& report);

} // namespace foretrain::experiments
