#include "experiments/report/report_html_step.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

double step_seconds(const Report& report, const ReportRow& row)
{
  double sum = 0;
  for (const TimePart& part : report.parts())
    sum += row.job ? std::max(0.0, part.of(*row.job).value_or(0)) : 0;
  return sum;
}

const char* part_style(const std::string& key)
{
  static const std::map<std::string, const char*> styles{
      {"compute", "t0"},        {"exposed_communication", "t1"}, {"input_stall", "t2"},
      {"host_to_device", "t3"}, {"straggler_wait", "t4"},        {"framework", "t5"},
      {"bubble", "t7"}};
  const auto found = styles.find(key);
  return found != styles.end() ? found->second : "t6";
}

std::string step_bar(const Report& report, const ReportRow& row, double full)
{
  const double total = step_seconds(report, row);
  std::vector<BarPart> parts;
  std::vector<std::string> words;
  for (const TimePart& part : report.parts()) {
    const double seconds = part.of(*row.job).value_or(0);
    if (!(seconds > 0))
      continue;
    words.push_back(fmt::format("{} {} ms ({})", part.title, number_text(1e3 * seconds, true),
                                percent_text(seconds / total)));
    parts.push_back({seconds / full, part_style(part.part->key), percent_text(seconds / total),
                     report.label(row) + ": " + words.back()});
  }
  return stacked_bar(parts, joined(words));
}

} // namespace

std::string step_section(const Report& report)
{
  double longest = 0;
  double shortest = 0;
  for (const ReportRow& row : report.rows())
    if (const double seconds = step_seconds(report, row); seconds > 0) {
      longest = std::max(longest, seconds);
      shortest = shortest > 0 ? std::min(shortest, seconds) : seconds;
    }
  if (!(longest > 0))
    return "";
  const bool one_scale = longest <= 12 * shortest;
  std::string html = "<ul class=\"legend\">";
  for (const TimePart& part : report.parts())
    html += legend_entry(part_style(part.part->key), part.title);
  html += "</ul>";
  if (!one_scale)
    html +=
        "<p class=\"note\">Steps differ too much for one scale: each bar is one step, drawn full "
        "width.</p>";
  std::vector<std::string> items;
  for (const ReportRow& row : report.rows())
    if (const double seconds = step_seconds(report, row); seconds > 0)
      items.push_back(bar_row(report.label(row),
                              step_bar(report, row, one_scale ? longest : seconds),
                              number_text(1e3 * seconds, true) + " ms"));
  return section("step", "Where the time of a step goes",
                 html + folded(items, 40, "<div class=\"rows\">", "</div>"));
}

} // namespace foretrain::experiments
