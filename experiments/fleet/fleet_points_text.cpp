#include "experiments/fleet/fleet_points_text.hpp"

#include "experiments/fleet/fleet_quantities.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/report_html_rows.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kSettingWidth = 30;

// Those that a table has room for.
constexpr const char* kInTable[] = {"/wait_s/mean", "/wait_s/p90", "/completion_s/mean",
                                    "/utilisation", "/goodput",    "/makespan_s",
                                    "/cost"};
constexpr const char* kWaitP90 = "/wait_s/p90"; // with its range

std::vector<std::string> pointers_of_points(const FleetSweepAnswer& answer)
{
  std::vector<std::string> pointers;
  for (const auto& [pointer, value] : answer.points.front().settings)
    pointers.push_back(pointer);
  return pointers;
}

bool is_of_any(const FleetQuantity& quantity, const FleetSweepAnswer& answer)
{
  return std::any_of(answer.points.begin(), answer.points.end(),
                     [&](const auto& point) { return quantity.of(point.answer) != nullptr; });
}

std::vector<const FleetQuantity*> columns_of(const FleetSweepAnswer& answer)
{
  std::vector<const FleetQuantity*> columns;
  for (const char* pointer : kInTable) {
    const FleetQuantity& quantity = fleet_quantity(pointer);
    if (is_of_any(quantity, answer))
      columns.push_back(&quantity);
  }
  return columns;
}

bool any_never_run(const FleetSweepAnswer& answer)
{
  return std::any_of(answer.points.begin(), answer.points.end(),
                     [](const FleetPointAnswer& it) { return never_run(it.answer.jobs) > 0; });
}

std::string words_of_point(const FleetPointAnswer& point, const std::vector<std::string>& names)
{
  std::vector<std::string> words;
  for (std::size_t i = 0; i < names.size(); ++i)
    words.push_back(names[i] + " " + clipped(value_text(point.settings[i].second), kSettingWidth));
  return joined(words);
}

std::string waits_as_bars(const FleetSweepAnswer& answer, const std::vector<std::string>& names)
{
  const FleetQuantity& quantity = fleet_quantity(kWaitP90);
  double most = 0;
  for (const FleetPointAnswer& point : answer.points)
    if (const Range* wait = quantity.of(point.answer))
      most = std::max(most, wait->high);
  std::string rows;
  for (const FleetPointAnswer& point : answer.points) {
    const Range* const found = quantity.of(point.answer);
    if (found == nullptr || most <= 0)
      continue;
    const Range& wait = *found;
    const std::string text = quantity_text(quantity, wait.median);
    rows += bar_row(words_of_point(point, names),
                    value_bar({wait.median / most, wait.low / most, wait.high / most, 0, 0}, text),
                    text);
  }
  return rows;
}

std::string hours_as_bars(const FleetSweepAnswer& answer, const std::vector<std::string>& names)
{
  constexpr std::size_t kPartLooks = 8; // t0-t7 of the page's style
  std::vector<const FleetHoursPart*> shown;
  for (const FleetHoursPart& part : fleet_hours_parts())
    if (std::any_of(answer.points.begin(), answer.points.end(), [&](const auto& point) {
          return (point.answer.gpu_hours.*part.part).median >
                 1e-3 * cluster_gpu_hours(point.answer);
        }))
      shown.push_back(&part);
  std::string rows, legend;
  for (std::size_t i = 0; i < shown.size(); ++i)
    legend += legend_entry(fmt::format("t{}", i % kPartLooks), shown[i]->name);
  for (const FleetPointAnswer& point : answer.points) {
    const double all = cluster_gpu_hours(point.answer);
    std::vector<BarPart> parts;
    for (std::size_t i = 0; all > 0 && i < shown.size(); ++i) {
      const double hours = std::max(0.0, (point.answer.gpu_hours.*shown[i]->part).median);
      parts.push_back({hours / all, fmt::format("t{}", i % kPartLooks), percent_of(hours / all),
                       fmt::format("{}: {} GPU h", shown[i]->name, number_text(hours, true))});
    }
    rows += bar_row(words_of_point(point, names), stacked_bar(parts, "where GPU hours went"),
                    number_text(all, true) + " GPU h");
  }
  return "<ul class=\"legend\">" + legend + "</ul>" + rows;
}

std::string points_as_table(const FleetSweepAnswer& answer, const std::vector<std::string>& names)
{
  const auto columns = columns_of(answer);
  std::string head, rows;
  for (const std::string& name : names)
    head += "<th>" + escaped(name) + "</th>";
  for (const FleetQuantity* column : columns)
    head += "<th class=\"number\">" +
            escaped(quantity_name(*column, answer.points.front().answer.currency)) + "</th>";
  for (const FleetPointAnswer& point : answer.points) {
    rows += "<tr>";
    for (std::size_t i = 0; i < names.size(); ++i)
      rows += cell(names[i], escaped(value_text(point.settings[i].second)));
    for (const FleetQuantity* column : columns) {
      const Range* const range = column->of(point.answer);
      rows += range == nullptr
                  ? number_cell(column->name)
                  : number_cell(column->name, quantity_range(*column, *range), range->median);
    }
    rows += number_cell("never run", std::to_string(never_run(point.answer.jobs)),
                        never_run(point.answer.jobs)) +
            "</tr>";
  }
  return "<table class=\"stacking sortable\"><thead><tr>" + head +
         "<th class=\"number\">never run</th></tr></thead><tbody>" + rows + "</tbody></table>";
}

} // namespace

std::vector<std::string> short_pointers(const std::vector<std::string>& pointers)
{
  std::vector<std::string> names;
  for (const std::string& pointer : pointers)
    names.push_back(short_pointer(pointer, pointers));
  return names;
}

std::string fleet_points_table(const FleetSweepAnswer& answer)
{
  const auto columns = columns_of(answer);
  const bool told = any_never_run(answer);
  TextTable table;
  table.header = short_pointers(pointers_of_points(answer));
  table.texts = table.header.size();
  for (const FleetQuantity* column : columns) {
    table.header.push_back(quantity_name(*column, answer.points.front().answer.currency));
    if (column->pointer == std::string(kWaitP90) && answer.seeds > 1)
      table.header.emplace_back("90 % int.");
  }
  if (told)
    table.header.emplace_back("never run");
  for (const FleetPointAnswer& point : answer.points) {
    table.lines.emplace_back();
    for (const auto& [pointer, value] : point.settings)
      table.lines.back().push_back(clipped(value_text(value), kSettingWidth));
    for (const FleetQuantity* column : columns) {
      const Range* const range = column->of(point.answer);
      table.lines.back().push_back(range == nullptr ? "-" : quantity_text(*column, range->median));
      if (column->pointer == std::string(kWaitP90) && answer.seeds > 1)
        table.lines.back().push_back(range == nullptr
                                         ? "-"
                                         : quantity_text(*column, range->low) + " to " +
                                               quantity_text(*column, range->high));
    }
    if (told)
      table.lines.back().push_back(std::to_string(never_run(point.answer.jobs)));
  }
  std::string text =
      fmt::format("{}: {} points, {} {} each\n\n", answer.fleet, answer.points.size(), answer.seeds,
                  answer.seeds == 1 ? "seed" : "seeds");
  text += table_text(table);
  if (told)
    text += "\nNever run: jobs that were rejected, stuck or still waiting. Waits are of those that "
            "ran.\n";
  if (answer.interrupted)
    text += "\nInterrupted: this is of what has happened so far.\n";
  return text;
}

std::string fleet_points_csv(const FleetSweepAnswer& answer)
{
  std::vector<const FleetQuantity*> columns;
  for (const FleetQuantity& quantity : fleet_quantities())
    if (is_of_any(quantity, answer))
      columns.push_back(&quantity);
  std::vector<std::string> header{"point"};
  for (const std::string& pointer : pointers_of_points(answer))
    header.push_back(pointer);
  header.insert(header.end(),
                {"gpus", "jobs_submitted", "jobs_completed", "jobs_timeout", "jobs_rejected",
                 "jobs_waiting", "jobs_unfinished", "jobs_running", "jobs_stuck"});
  for (const FleetQuantity* column : columns)
    for (const char* end : {"", "_low", "_high"})
      header.push_back(column->column() + end);
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    const FleetPointAnswer& point = answer.points[i];
    std::vector<std::string> fields{std::to_string(i + 1)};
    for (const auto& [pointer, value] : point.settings)
      fields.push_back(value_text(value));
    const FleetJobCounts& jobs = point.answer.jobs;
    for (const int number :
         {point.answer.gpus, jobs.submitted, jobs.completed, jobs.timeout, jobs.rejected,
          jobs.waiting, jobs.unfinished, jobs.running, jobs.stuck})
      fields.push_back(std::to_string(number));
    for (const FleetQuantity* column : columns) {
      const Range* const range = column->of(point.answer);
      for (const double value :
           {range != nullptr ? range->median : 0, range != nullptr ? range->low : 0,
            range != nullptr ? range->high : 0})
        fields.push_back(range != nullptr ? fmt::format("{}", value) : "");
    }
    text += csv_line(fields);
  }
  return text;
}

std::string fleet_points_html(const FleetSweepAnswer& answer)
{
  const std::vector<std::string> names = short_pointers(pointers_of_points(answer));
  const std::string body =
      section("points", "Points side by side", points_as_table(answer, names)) +
      section("waits", "Nine of ten jobs wait less than", waits_as_bars(answer, names)) +
      section("hours", "Where GPU hours went", hours_as_bars(answer, names));
  return page(
      answer.fleet,
      "<p>" + escaped(fmt::format("{} points, {} seeds each", answer.points.size(), answer.seeds)) +
          "</p>",
      body, "foretrain " + escaped(answer.version));
}

} // namespace foretrain::experiments
