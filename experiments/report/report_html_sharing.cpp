#include "experiments/report/report_html_sharing.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kPointsShown = 6;

double slowdown_of(const ReportRow& row)
{
  return row.job->slowdown.value_or(1);
}

std::string point_html(const Report& report, const std::vector<const ReportRow*>& rows)
{
  double worst = 1;
  for (const ReportRow* row : rows)
    worst = std::max(worst, slowdown_of(*row));
  const std::string label = report.label(*rows.front(), {"job"});
  std::string html = "<div class=\"rows\">";
  if (!label.empty())
    html += "<h3>" + prose(label) + "</h3>";
  if (const auto& joint = rows.front()->result->joint)
    html += "<p>" + prose(joint_words(*joint)) + "</p>";
  for (const ReportRow* row : rows) {
    const std::string where = row->job->meeting ? row->job->meeting->resource : "";
    html += bar_row(row->name + (where.empty() ? "" : ", on " + where),
                    value_bar({slowdown_of(*row) / worst, 0, 0, 1 / worst, 0}, row->name),
                    fmt::format("{:.2f} x", slowdown_of(*row)));
  }
  return html + "</div>";
}

} // namespace

std::string joint_words(const JointScore& joint)
{
  if (joint.gpus_lost < 1e-3 * joint.gpus)
    return "Together as fast as alone: no GPU hours are lost.";
  const auto& range = joint.weighted_slowdown_range;
  const std::string ends = range ? fmt::format(" ({:.0f} % interval {:.2f} to {:.2f})",
                                               100 * range->interval, range->low, range->high)
                                 : "";
  return fmt::format("Together {:.3f} times as slow as alone{}, weighted by GPUs: {} of {} GPU "
                     "hours are lost in every hour.",
                     joint.weighted_slowdown, ends, number_text(joint.gpus_lost), joint.gpus);
}

std::string sharing_section(const Report& report)
{
  std::map<std::size_t, std::vector<const ReportRow*>> points;
  for (const ReportRow& row : report.rows())
    if (row.job && row.job->slowdown)
      points[row.point].push_back(&row);
  std::vector<std::string> items;
  for (const auto& [point, rows] : points)
    if (rows.size() > 1)
      items.push_back(point_html(report, rows));
  if (items.empty())
    return "";
  return section(
      "sharing", "What sharing costs",
      "<p class=\"note\">Slowdown of each job against running alone on the same GPUs; the "
      "mark is none.</p>" +
          folded(items, kPointsShown, "<div>", "</div>"));
}

} // namespace foretrain::experiments
