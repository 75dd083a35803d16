// What a result means, in words: the best point of each job, what limits it, and from where on
// more GPUs stop paying.
#pragma once

#include "experiments/report/report_html_scaling.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Probability of being faster above which a point is clearly ahead; others are named as rivals.
inline constexpr double kClear = 0.95;

/// The answer for one job; for one model, where models are compared.
struct Answer {
  std::string subject; // empty if there is but one
  const ReportRow* best = nullptr;
  std::string headline;               // the best point, its limit, and whether scaling pays
  std::vector<std::string> sentences; // the same in full; the first one names the best point
};

std::vector<Answer> answers(const Report& report);

/// A sentence for each varied setting that changes no result.
std::vector<std::string> without_effect(const Report& report);

} // namespace foretrain::experiments
