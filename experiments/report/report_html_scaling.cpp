#include "experiments/report/report_html_scaling.hpp"

#include "sim/base/json_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::string own_gpus(const ReportRow& row)
{
  return fmt::format("/jobs/{}/gpus", row.job_index);
}

double gpus_of(const ReportRow* row)
{
  return row->job->gpus;
}

ScalingStep step_between(const ReportRow* from, const ReportRow* to, double one_gpu)
{
  ScalingStep step{from, to, gpus_of(from), gpus_of(to), 1, 1, 1};
  step.speedup = rate_of(*to) / rate_of(*from);
  step.gain = (rate_of(*to) - rate_of(*from)) / (step.gpus_after - step.gpus_before) / one_gpu;
  step.gpu_time = step.gpus_after / step.gpus_before / step.speedup;
  return step;
}

// `rows` have rates and ascend in GPUs.
Scaling scaling_of(const Series& rows)
{
  const ReportRow& first = *rows.front();
  const double speedup = first.job->speedup;
  const double one_gpu = rate_of(first) / (speedup > 0 ? speedup : gpus_of(&first));
  Scaling scaling;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    scaling.steps.push_back(step_between(rows[i], rows[i + 1], one_gpu));
  if (!scaling.steps.empty())
    scaling.telling = scaling.steps.back();
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    ScalingStep best = scaling.steps[i];
    for (std::size_t j = i + 2; j < rows.size(); ++j)
      if (const ScalingStep step = step_between(rows[i], rows[j], one_gpu); step.gain > best.gain)
        best = step;
    if (!best.pays()) {
      scaling.telling = best;
      break;
    }
  }
  return scaling;
}

Scaling scaling_along(const Series& series)
{
  Series rows;
  for (const ReportRow* row : series)
    if (gpus_of(row) > 0 && rate_of(*row) > 0 && row->fits())
      rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ReportRow* a, const ReportRow* b) { return gpus_of(a) < gpus_of(b); });
  rows.erase(
      std::unique(rows.begin(), rows.end(),
                  [](const ReportRow* a, const ReportRow* b) { return gpus_of(a) == gpus_of(b); }),
      rows.end());
  return rows.empty() ? Scaling{} : scaling_of(rows);
}

} // namespace

std::vector<Scaling> all_scaling(const Report& report)
{
  std::vector<Scaling> all;
  for (const std::string& leader : report.varying())
    for (const Series& series : series_along(report, leader))
      if (report.leader_of(own_gpus(*series.front())) == leader)
        if (Scaling scaling = scaling_along(series); !scaling.steps.empty())
          all.push_back(std::move(scaling));
  return all;
}

std::vector<Series> series_along(const Report& report, const std::string& pointer)
{
  std::vector<Series> all;
  std::map<std::string, std::size_t> index;
  for (const ReportRow& row : report.rows()) {
    if (!row.job)
      continue;
    Json key = Json::array({row.name});
    for (const std::string& other : report.varying())
      if (other != pointer)
        key.push_back(setting_at(row, other));
    const auto [found, is_new] = index.try_emplace(value_text(key), all.size());
    if (is_new)
      all.emplace_back();
    all[found->second].push_back(&row);
  }
  return all;
}

} // namespace foretrain::experiments
