#include "experiments/report/report_html_tables.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
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
  for (const Json& one : list_at(*row.job, "busiest")) {
    const std::string resource = text_at(one, "/resource");
    if (!resource.empty())
      html += "<li>" + share_bar(number_at(one, "/utilisation").value_or(0), resource + " busy") +
              code(resource) + "</li>";
  }
  return html.empty() ? "" : "<ul class=\"uses\">" + html + "</ul>";
}

std::string limit_row(const Report& report, const ReportRow& row)
{
  std::string html = "<tr><th scope=\"row\">" + prose(report.label(row)) + "</th>";
  if (!row.job)
    return html + "<td class=\"failed\" colspan=\"4\">failed: " + escaped(row.error) + "</td></tr>";
  const std::string resource = row.limited_by();
  const std::string limit = escaped(row.limit());
  const auto busy = row.number("/bottleneck/utilisation");
  std::string why = prose(row.text("/bottleneck/why"));
  if (const std::string reduce = row.text("/all_reduce"); !reduce.empty())
    why += "<small>all-reduce: " + escaped(reduce) + "</small>";
  return html + cell("limited by", resource.empty() ? "-" : limit) +
         cell("busy", busy && *busy > 0 ? share_bar(*busy, resource + " busy") : "-") +
         cell("why", why) + cell("busiest", busiest(row)) + "</tr>";
}

// A column of numbers: where they are, how they are scaled, and whether their interval is meant.
struct BusyColumn {
  std::string title;
  std::string pointer;
  double factor = 1;
  bool range = false;
  bool whole = false;
};

std::vector<BusyColumn> columns_of(const Report& report)
{
  std::vector<BusyColumn> columns{
      {"GPUs", "/gpus", 1, false, true},
      {"nodes", "/nodes", 1, false, true},
      {"samples/s", "/throughput_samples_per_s"},
      {report.interval() + " interval", "/throughput_samples_per_s", 1, true},
      {"tokens/s", "/tokens_per_s"},
      {"tokens/s per GPU", "/tokens_per_s_per_gpu"},
      {"MFU, %", "/mfu/full", 100},
      {"days", "/days"},
      {"cost", "/cost"},
      {"step, ms", "/step_time_s", 1e3},
      {report.interval() + " interval", "/step_time_s", 1e3, true},
      {"needs, GB", "/device_memory_byte/needed", 1e-9},
      {"has, GB", "/device_memory_byte/available", 1e-9},
      {"speedup", "/speedup"},
      {"efficiency, %", "/efficiency", 100},
      {"alone, samples/s", "/alone/throughput_samples_per_s"},
      {"slowdown", "/slowdown"}};
  for (const TimePart& part : report.parts())
    columns.push_back({part.title + ", ms", part.pointer, 1e3});
  columns.push_back({"bottleneck busy, %", "/bottleneck/utilisation", 100});
  std::erase_if(columns, [&](const BusyColumn& column) { // what no row has is not shown
    const std::string pointer = column.pointer + (column.range ? "/low" : "");
    return std::none_of(report.rows().begin(), report.rows().end(), [&](const ReportRow& row) {
      return row.number(pointer.c_str()).has_value();
    });
  });
  return columns;
}

std::string shown(double value, const BusyColumn& column)
{
  return column.whole ? fmt::format("{:.0f}", value) : number_text(column.factor * value, true);
}

std::string number_column(const ReportRow& row, const BusyColumn& column)
{
  if (column.range) {
    const auto low = row.number((column.pointer + "/low").c_str());
    const auto high = row.number((column.pointer + "/high").c_str());
    return low && high
               ? number_cell(column.title, shown(*low, column) + " to " + shown(*high, column),
                             column.factor * (*high - *low))
               : number_cell(column.title, "-", -1);
  }
  const auto value = row.number(column.pointer.c_str());
  return value ? number_cell(column.title, shown(*value, column), column.factor * *value)
               : number_cell(column.title, "-", -1);
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
  for (const BusyColumn& column : columns)
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
    for (const BusyColumn& column : columns)
      html += number_column(row, column);
    html += "</tr>\n";
  }
  return report.rows().empty() ? ""
                               : section("numbers", "All numbers", html + "</tbody></table></div>");
}

} // namespace foretrain::experiments
