#include "experiments/validate/validation_html.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_scatter.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/validate/suite.hpp"
#include "experiments/validate/validation_text.hpp"
#include "sim/base/json_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::size_t look_of(const std::string& regime)
{
  return static_cast<std::size_t>(std::find(kRegimes.begin(), kRegimes.end(), regime) -
                                  kRegimes.begin());
}

std::string head(const std::vector<std::string>& names)
{
  std::string html = "<thead><tr>";
  for (const std::string& name : names)
    html += "<th scope=\"col\">" + escaped(name) + "</th>";
  return html + "</tr></thead>";
}

std::string summary_table(const char* title, const char* key, const Json& entries)
{
  if (entries.empty())
    return "";
  std::string html =
      "<div class=\"scroll\"><table class=\"numbers sortable\">" +
      head({title, "rows", "mean error", "largest", "bias", "ratios: mean / largest (rows)",
            "pairs in order", "measured inside the interval", "gate: mean / largest"}) +
      "<tbody>";
  for (const Json& entry : entries) {
    const SummaryText text = summary_text(entry);
    html += "<tr><th scope=\"row\">" + escaped(text_at(entry, (std::string("/") + key).c_str())) +
            "</th>";
    for (const std::string* field : {&text.rows, &text.mean, &text.maximum, &text.bias,
                                     &text.ratios, &text.order, &text.covered, &text.gate})
      html += "<td>" + escaped(*field) + "</td>";
    html += "</tr>";
  }
  return html + "</tbody></table></div>";
}

// One plot for each unit: a rate and a time share no axis.
std::string plots(const Json& suite)
{
  std::vector<std::pair<std::string, ScatterChart>> charts;
  std::vector<std::string> regimes;
  for (const Json& row : list_at(suite, "rows")) {
    if (!number_at(row, "/predicted") || text_at(row, "/role") != "validation")
      continue;
    const std::string unit = text_at(row, "/unit");
    auto at = std::find_if(charts.begin(), charts.end(),
                           [&](const auto& chart) { return chart.first == unit; });
    if (at == charts.end()) {
      const std::string name = text_at(suite, "/suite");
      charts.push_back({unit,
                        {"predicted against measured, " + name,
                         "measured (" + unit + ")",
                         "predicted (" + unit + ")",
                         0.2,
                         {}}});
      at = charts.end() - 1;
    }
    const std::string regime = text_at(row, "/regime");
    const double predicted = *number_at(row, "/predicted");
    const double measured = *number_at(row, "/measured");
    at->second.points.push_back(
        {measured, predicted, number_at(row, "/low").value_or(predicted),
         number_at(row, "/high").value_or(predicted), look_of(regime),
         fmt::format("{}: predicted {} {}, measured {} ({})", text_at(row, "/id"),
                     number_text(predicted), unit, number_text(measured),
                     signed_percent(*number_at(row, "/error")))});
    if (std::find(regimes.begin(), regimes.end(), regime) == regimes.end())
      regimes.push_back(regime);
  }
  if (charts.empty())
    return "";
  std::string html = "<ul class=\"legend\">";
  for (const std::string& regime : regimes)
    html += fmt::format("<li class=\"c{}\">{}{}</li>", look_of(regime) % kCurveLooks,
                        curve_swatch(look_of(regime)), escaped(regime));
  html += "</ul><div class=\"panels\">";
  for (const auto& [unit, chart] : charts)
    html += "<figure>" + scatter_chart(chart, 520, 480) + "</figure>";
  return html + "</div><p class=\"note\">On the line a prediction is right; the dotted lines are "
                "20 % off.</p>";
}

std::string row_cells(const Json& row)
{
  const std::string role = text_at(row, "/role");
  std::string html = "<tr><th scope=\"row\">" + escaped(text_at(row, "/id")) + "</th><td>" +
                     escaped(text_at(row, "/regime")) + (role == "validation" ? "" : ", " + role) +
                     "</td>";
  if (const auto error = number_at(row, "/error")) {
    const double predicted = *number_at(row, "/predicted");
    const double measured = *number_at(row, "/measured");
    html += number_cell("error", signed_percent(*error), *error);
    html += number_cell("predicted", number_text(predicted), predicted);
    html += number_cell("measured", number_text(measured), measured);
    html += "<td>" + escaped(text_at(row, "/unit")) + "</td>";
  } else {
    html += "<td class=\"failed\" colspan=\"4\">" + escaped(text_at(row, "/problem")) + "</td>";
  }
  return html + "<td><small>" + escaped(text_at(row, "/source")) + "</small></td></tr>";
}

std::string rows_table(const Json& suite)
{
  std::string html = "<details><summary>All rows, largest error first</summary>"
                     "<div class=\"scroll\"><table class=\"sortable\">" +
                     head({"row", "regime", "error", "predicted", "measured", "unit", "source"}) +
                     "<tbody>";
  for (const Json& row : list_at(suite, "rows"))
    html += row_cells(row);
  return html + "</tbody></table></div></details>";
}

std::string suite_section(const Json& suite)
{
  const std::string name = text_at(suite, "/suite");
  std::string html = "<p>" + escaped(text_at(suite, "/description")) + "</p>";
  html += plots(suite);
  html += summary_table("regime", "regime", list_at(suite, "regimes"));
  html += summary_table("part", "part", list_at(suite, "parts"));
  html += summary_table("calibration rows: not counted", "part", list_at(suite, "calibration"));
  html += summary_table("rows that contradict their table: not counted", "part",
                        list_at(suite, "disturbed"));
  return section(escaped(name), name, html + rows_table(suite));
}

} // namespace

std::string validation_html(const Json& result)
{
  std::string body;
  if (list_at(result, "suites").size() > 1)
    body += section("regimes", "All suites",
                    summary_table("regime", "regime", list_at(result, "regimes")));
  std::string links;
  for (const Json& suite : list_at(result, "suites")) {
    const std::string name = escaped(text_at(suite, "/suite"));
    links += fmt::format("<a href=\"#{0}\">{0}</a>", name);
    body += suite_section(suite);
  }
  return page("Predictions against measurements",
              "<p>Error: predicted / measured - 1. Rows that a fit or an anchor has used are shown "
              "apart and never counted.</p><nav aria-label=\"Sections\">" +
                  links + "</nav>",
              body,
              fmt::format("foretrain, version {}, seed {}. The same input and seed give the same "
                          "numbers.",
                          escaped(text_at(result, "/version")),
                          number_at(result, "/seed").value_or(1)));
}

} // namespace foretrain::experiments
