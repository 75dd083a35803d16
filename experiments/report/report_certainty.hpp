// How sure the answers are: which parameters the intervals come from, and which point is faster.
#pragma once

#include "experiments/report/report_html_rows.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Probability of being faster above which a point is clearly ahead; others are named as rivals.
inline constexpr double kClear = 0.95;

/// Sentences for the best point of each job; none where intervals hold no parameters.
std::vector<std::string> certainty(const Report& report);

} // namespace foretrain::experiments
