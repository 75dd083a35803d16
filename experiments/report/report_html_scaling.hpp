// What more GPUs bring, from one number of them to the next.
#pragma once

#include "experiments/report/report_html_rows.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Samples per second of a row that has a result.
inline double rate_of(const ReportRow& row)
{
  return row.job->throughput.median;
}

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

} // namespace foretrain::experiments
