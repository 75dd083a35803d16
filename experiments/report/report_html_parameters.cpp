#include "experiments/report/report_html_parameters.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "sim/base/json_text.hpp"

#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMaxValues = 12; // of one parameter that are listed

struct Use {
  std::string value;
  std::string source;
  std::vector<std::size_t> points;
};

struct UsedParameter {
  std::string name;
  std::vector<Use> uses;
};

std::vector<UsedParameter> parameters_of(const Report& report)
{
  std::vector<UsedParameter> parameters;
  std::map<std::string, std::size_t> index;
  std::map<std::string, std::size_t> use_index;
  std::size_t point = 0;
  for (const PointResult& one : report.result().points) {
    for (const Parameter& entry : one.parameters) {
      const auto [found, is_new] = index.try_emplace(entry.name, parameters.size());
      if (is_new)
        parameters.push_back({entry.name, {}});
      UsedParameter& parameter = parameters[found->second];
      const Use use{entry.value, entry.source, {}};
      const std::string key = entry.name + '\n' + use.value + '\n' + use.source;
      const auto [known, is_other] = use_index.try_emplace(key, parameter.uses.size());
      if (is_other)
        parameter.uses.push_back(use);
      parameter.uses[known->second].points.push_back(point);
    }
    ++point;
  }
  return parameters;
}

std::string pretty(const Json& json)
{
  return "<pre>" + escaped(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "</pre>";
}

} // namespace

std::string parameters_section(const Report& report)
{
  // A source is told once, above all that comes from it.
  std::vector<std::string> order;
  std::map<std::string, std::string> rows; // by source
  for (const UsedParameter& parameter : parameters_of(report)) {
    const std::size_t shown = std::min(parameter.uses.size(), kMaxValues);
    const bool differs = parameter.uses.size() > 1;
    for (std::size_t i = 0; i < shown; ++i) {
      const Use& use = parameter.uses[i];
      if (rows.count(use.source) == 0)
        order.push_back(use.source);
      rows[use.source] += fmt::format("<tr{}><th scope=\"row\">{}</th>",
                                      differs ? " class=\"differs\"" : "", code(parameter.name)) +
                          cell("value", escaped(use.value)) +
                          cell("where", escaped(report.points_text(use.points))) + "</tr>\n";
    }
    if (parameter.uses.size() > shown)
      rows[parameter.uses.back().source] += fmt::format(
          "<tr><th scope=\"row\">{}</th><td colspan=\"2\">and {} more values</td></tr>\n",
          code(parameter.name), parameter.uses.size() - shown);
  }
  std::string html;
  for (const std::string& source : order)
    html += "<tbody><tr class=\"source\"><td colspan=\"3\">" + escaped(source) + "</td></tr>\n" +
            rows[source] + "</tbody>";
  if (html.empty())
    return "";
  return section(
      "parameters", "Effective parameters",
      "<p class=\"note\">The numbers the prediction was made from, below what each comes "
      "from. A bar at the left marks those that differ between points.</p><table "
      "class=\"stacking parameters\"><thead><tr><th scope=\"col\">parameter</th><th "
      "scope=\"col\">value</th><th scope=\"col\">where</th></tr></thead>" +
          html + "</table>");
}

std::string settings_section(const Report& report)
{
  std::string html;
  std::string sweep;
  for (const std::string& pointer : report.settings())
    sweep += fmt::format("{}\n  {}: {}", sweep.empty() ? "" : ",", "\"" + pointer + "\"",
                         value_text(Json(report.values_of(pointer))));
  if (!sweep.empty())
    html += "<p class=\"note\">Swept, as in the experiment file's <code>sweep</code>:</p><pre>{" +
            escaped(sweep) + "\n}</pre>";
  if (const Json& input = report.result().input; !input.is_null())
    html +=
        "<details><summary>The experiment as it was read</summary>" + pretty(input) + "</details>";
  return section("settings", "Settings", html);
}

std::string warnings_box(const Report& report)
{
  std::string items;
  for (const ReportWarning& warning : report.warnings()) {
    items += "<li>" + escaped(warning.text);
    if (!warning.points.empty() && report.points() > 1)
      items += " <small>" + escaped(report.points_text(warning.points)) + "</small>";
    items += "</li>";
  }
  for (const std::string& sentence : without_effect(report))
    items += "<li>" + escaped(sentence) + "</li>";
  std::map<std::string, std::vector<std::size_t>> errors;
  for (const ReportRow& row : report.rows())
    if (!row.job)
      errors[row.error].push_back(row.point);
  for (const auto& [error, points] : errors)
    items += "<li><strong>No result</strong> for " + escaped(report.points_text(points)) + ": " +
             escaped(error) + "</li>";
  return items.empty() ? ""
                       : "<aside class=\"warnings\" aria-label=\"Warnings\"><h2>Warnings</h2><ul>" +
                             items + "</ul></aside>";
}

} // namespace foretrain::experiments
