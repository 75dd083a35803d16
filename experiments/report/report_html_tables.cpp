#include "experiments/report/report_html_tables.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kShownRows = 16; // of a table, before the fold

// Columns from `numbers` on are right-aligned.
std::string header(const std::vector<std::string>& names, std::size_t numbers = 99)
{
  std::string html = "<thead><tr>";
  for (std::size_t i = 0; i < names.size(); ++i)
    html += (i < numbers ? "<th scope=\"col\">" : "<th scope=\"col\" class=\"number\">") +
            escaped(names[i]) + "</th>";
  return html + "</tr></thead>";
}

// How often each resource is the limit, where there is more than one.
std::string limit_shares(const Report& report)
{
  std::map<std::string, std::size_t> counts;
  std::size_t total = 0;
  for (const ReportRow& row : report.rows())
    if (const std::string resource = row.limited_by(); !resource.empty()) {
      ++counts[resource];
      ++total;
    }
  if (counts.size() < 2 || total < 3)
    return "";
  std::vector<std::pair<std::size_t, std::string>> sorted;
  for (const auto& [resource, count] : counts)
    sorted.emplace_back(count, resource);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string html = "<div class=\"rows\">";
  for (const auto& [count, resource] : sorted)
    html += bar_row(resource,
                    value_bar({static_cast<double>(count) / static_cast<double>(total)},
                              fmt::format("{} limits {} of {}", resource, count, total)),
                    fmt::format("{} of {}", count, total));
  return html + "</div>";
}

std::string share_bar(double share, const std::string& description)
{
  return "<span class=\"use\">" + meter(share, description + " " + percent_text(share)) + "<span>" +
         percent_text(share) + "</span></span>";
}

std::string busiest(const ReportRow& row)
{
  std::string html;
  for (const ResourceUse& use : row.job->busiest)
    html +=
        "<li>" + share_bar(use.utilisation, use.resource + " busy") + code(use.resource) + "</li>";
  return html.empty() ? "" : "<ul class=\"uses\">" + html + "</ul>";
}

std::string limit_row(const Report& report, const ReportRow& row)
{
  std::string html = "<tr><th scope=\"row\">" + prose(report.label(row)) + "</th>";
  if (!row.job)
    return html + "<td class=\"failed\" colspan=\"4\">failed: " + escaped(row.error) + "</td></tr>";
  const std::string resource = row.limited_by();
  const std::string limit = escaped(row.limit());
  const double busy = row.job->bottleneck.utilisation;
  std::string why = prose(row.job->bottleneck.why);
  if (const std::string& reduce = row.job->all_reduce; !reduce.empty())
    why += "<small>all-reduce: " + escaped(reduce) + "</small>";
  return html + cell("limited by", resource.empty() ? "-" : limit) +
         cell("busy", busy > 0 ? share_bar(busy, resource + " busy") : "-") + cell("why", why) +
         cell("busiest", busiest(row)) + "</tr>";
}

using NumberOf = std::function<std::optional<double>(const JobResult&)>;
using RangeOf = std::function<std::optional<Range>(const JobResult&)>;

// A column of numbers, or of intervals.
struct NumberColumn {
  std::string title;
  NumberOf number;
  double factor = 1;
  bool whole = false;
  RangeOf range{};

  bool has(const JobResult& job) const
  {
    return range ? range(job).has_value() : number(job).has_value();
  }
};

std::optional<double> median_of(const std::optional<Range>& range)
{
  return range ? std::optional(range->median) : std::nullopt;
}

std::vector<NumberColumn> columns_of(const Report& report)
{
  using Job = const JobResult&;
  const std::string interval = report.interval() + " interval";
  std::vector<NumberColumn> columns{
      {"GPUs", [](Job j) { return j.gpus; }, 1, true},
      {"nodes", [](Job j) { return j.nodes; }, 1, true},
      {"samples/s", [](Job j) { return j.throughput.median; }},
      {interval, {}, 1, false, [](Job j) { return j.throughput; }},
      {"tokens/s", [](Job j) { return median_of(j.tokens_per_s); }},
      {"tokens/s per GPU", [](Job j) { return j.tokens_per_s_per_gpu; }},
      {"MFU, %", [](Job j) { return j.mfu ? std::optional(j.mfu->share.full) : std::nullopt; },
       100},
      {"days", [](Job j) { return median_of(j.days); }},
      {"cost", [](Job j) { return median_of(j.cost); }},
      {"step, ms", [](Job j) { return j.step_time.median; }, 1e3},
      {interval, {}, 1e3, false, [](Job j) { return j.step_time; }},
      {"needs, GB", [](Job j) { return j.memory.needed.value(); }, 1e-9},
      {"has, GB", [](Job j) { return j.memory.available.value(); }, 1e-9},
      {"speedup", [](Job j) { return j.speedup; }},
      {"efficiency, %", [](Job j) { return j.efficiency; }, 100},
      {"alone, samples/s",
       [](Job j) { return j.alone ? std::optional(j.alone->throughput.median) : std::nullopt; }},
      {"slowdown", [](Job j) { return j.slowdown; }}};
  for (const TimePart& part : report.parts())
    columns.push_back({part.title + ", ms", [part](Job j) { return part.of(j); }, 1e3});
  columns.push_back({"bottleneck busy, %", [](Job j) { return j.bottleneck.utilisation; }, 100});
  std::erase_if(columns, [&](const NumberColumn& column) { // what no row has is not shown
    return std::none_of(report.rows().begin(), report.rows().end(),
                        [&](const ReportRow& row) { return row.job && column.has(*row.job); });
  });
  return columns;
}

std::string shown(double value, const NumberColumn& column)
{
  return column.whole ? fmt::format("{:.0f}", value) : number_text(column.factor * value, true);
}

std::string number_column(const JobResult& job, const NumberColumn& column)
{
  if (!column.has(job))
    return number_cell(column.title, "-", -1);
  if (!column.range) {
    const double value = *column.number(job);
    return number_cell(column.title, shown(value, column), column.factor * value);
  }
  const Range range = *column.range(job);
  return number_cell(column.title, shown(range.low, column) + " to " + shown(range.high, column),
                     column.factor * (range.high - range.low));
}

std::string setting_cell(const Report& report, const ReportRow& row, const std::string& pointer)
{
  const Json& value = setting_at(row, pointer);
  const std::string sort =
      value.is_number() ? fmt::format(" data-sort=\"{:.6g}\"", value.get<double>()) : "";
  return "<td" + sort + ">" + escaped(report.setting_text(row, pointer)) + "</td>";
}

std::string step_series(const Report& report, const ScalingStep& step)
{
  return report.label(*step.to,
                      {report.leader_of(fmt::format("/jobs/{}/gpus", step.to->job_index))});
}

std::string step_row(const Report& report, const ScalingStep& step)
{
  const std::string series = step_series(report, step);
  const std::string from = step.from->limited_by();
  const std::string to = step.to->limited_by();
  return fmt::format("<tr><th scope=\"row\">{:g} to {:g} GPUs</th>", step.gpus_before,
                     step.gpus_after) +
         (series.empty() ? "" : cell("series", prose(series))) +
         cell("rate", fmt::format("{} x", number_text(step.speedup))) +
         cell("GPU time per sample", change_text(step.gpu_time - 1)) +
         cell("each added GPU brings", share_bar(std::max(0.0, step.gain), "of one GPU alone")) +
         cell("limit", (from == to ? "" : escaped(from) + " then ") + escaped(to)) +
         cell("verdict", step.pays() ? "pays" : "<strong>does not pay</strong>") + "</tr>";
}

} // namespace

std::string limits_section(const Report& report)
{
  std::vector<std::string> rows;
  bool any = false;
  for (const ReportRow& row : report.rows()) {
    rows.push_back(limit_row(report, row));
    any = any || !row.limited_by().empty() || !row.error.empty();
  }
  if (!any)
    return "";
  return section("limits", "What limits each point",
                 limit_shares(report) + folded(rows, kShownRows,
                                               "<table class=\"stacking limits\">" +
                                                   header({"point", "limited by", "busy", "why",
                                                           "busiest resources"}) +
                                                   "<tbody>",
                                               "</tbody></table>"));
}

std::string scaling_section(const Report& report)
{
  std::vector<std::string> rows;
  std::vector<std::string> names{
      "step", "series", "rate", "GPU time per sample", "each added GPU brings", "limit", "verdict"};
  for (const Scaling& scaling : all_scaling(report))
    for (const ScalingStep& step : scaling.steps) {
      rows.push_back(step_row(report, step));
      if (step_series(report, step).empty())
        std::erase(names, "series");
    }
  if (rows.empty())
    return "";
  return section(
      "scaling", "What each step in GPUs brings",
      "<p class=\"note\">A step pays while each added GPU brings at least half of what one GPU "
      "alone "
      "does. GPU time per sample is what a sample costs, compared with the smaller number of "
      "GPUs.</p>" +
          folded(rows, kShownRows, "<table class=\"stacking steps\">" + header(names) + "<tbody>",
                 "</tbody></table>"));
}

std::string numbers_section(const Report& report)
{
  const auto columns = columns_of(report);
  std::vector<std::string> names{"point"};
  for (const std::string& pointer : report.settings())
    names.push_back(report.short_name(pointer));
  names.emplace_back("job");
  const std::size_t first_number = names.size();
  for (const NumberColumn& column : columns)
    names.push_back(column.title);
  std::string html =
      "<p class=\"note\">One line per point and job; a click on a heading sorts.</p>"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All numbers\">"
      "<table class=\"numbers sortable\">" +
      header(names, first_number) + "<tbody>";
  for (const ReportRow& row : report.rows()) {
    html += fmt::format("<tr><td data-sort=\"{0}\">{0}</td>", row.point + 1);
    for (const std::string& pointer : report.settings())
      html += setting_cell(report, row, pointer);
    if (!row.job) {
      html += fmt::format("<td class=\"failed\" colspan=\"{}\">failed: {}</td></tr>\n",
                          columns.size() + 1, escaped(row.error));
      continue;
    }
    html += cell("job", escaped(row.name) + (row.fits() ? "" : " (does not fit)"));
    for (const NumberColumn& column : columns)
      html += number_column(*row.job, column);
    html += "</tr>\n";
  }
  return report.rows().empty() ? ""
                               : section("numbers", "All numbers", html + "</tbody></table></div>");
}

} // namespace foretrain::experiments
