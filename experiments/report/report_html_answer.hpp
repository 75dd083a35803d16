// What a result means, in words: the best point of each job, what limits it, and from where on
// more GPUs stop paying.
#pragma once

#include "experiments/report/report_html_rows.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Probability of being faster above which a point is clearly ahead; others are named as rivals.
inline constexpr double kClear = 0.95;

using Series = std::vector<const ReportRow*>;

/// Rows with results that differ only in one setting, each list in order of that setting's
/// appearance. An empty pointer tells all rows apart.
std::vector<Series> series_along(const Report& report, const std::string& pointer);

/// From one number of GPUs to the next, all else equal.
struct ScalingStep {
  const ReportRow* from = nullptr;
  const ReportRow* to = nullptr;
  double gpus_before = 0;
  double gpus_after = 0;
  double speedup = 1;  // ratio of throughputs
  double gain = 1;     // throughput per added GPU, as a share of what one GPU alone does
  double gpu_time = 1; // GPU seconds per sample, after over before

  /// Each added GPU brings at least half of what one GPU alone does.
  bool pays() const { return gain >= 0.5; }
};

/// A series along a job's own GPUs.
struct Scaling {
  std::vector<ScalingStep> steps;
  /// From the smallest number of GPUs after which no larger one pays, to the best of those; the
  /// last step if there is none such.
  ScalingStep telling;
};

/// All series in which a job's own number of GPUs varies.
std::vector<Scaling> all_scaling(const Report& report);

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
