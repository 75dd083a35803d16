#include "experiments/report/report_html_matrix.hpp"

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

constexpr std::size_t kMostLines = 24;
constexpr std::size_t kMostModels = 12;

struct Cells {
  std::vector<std::string> models;
  std::vector<std::string> lines;
  std::map<std::pair<std::string, std::string>, double> rates; // line, model
};

std::string model_pointer(const Report& report)
{
  for (const std::string& pointer : report.varying())
    if (pointer.ends_with("/model"))
      return pointer;
  return "";
}

void add_once(std::vector<std::string>& list, const std::string& text)
{
  if (std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(text);
}

Cells cells_of(const Report& report, const std::string& model)
{
  // The largest number of GPUs only: what a stack costs shows there.
  int gpus = 0;
  for (const ReportRow& row : report.rows())
    gpus = std::max(gpus, row.job ? row.job->gpus : 0);
  Cells cells;
  for (const ReportRow& row : report.rows()) {
    if (!row.job || !row.fits() || row.job->gpus < gpus)
      continue;
    std::vector<std::string> words;
    for (const std::string& pointer : report.varying())
      if (pointer != model && !pointer.ends_with("/gpus") && report.leader_of(pointer) == pointer)
        words.push_back(report.setting_text(row, pointer));
    const std::string line = joined(words);
    const std::string column = report.setting_text(row, model);
    add_once(cells.lines, line);
    add_once(cells.models, column);
    double& best = cells.rates[{line, column}];
    best = std::max(best, row.job->throughput.median);
  }
  return cells;
}

} // namespace

std::string matrix_section(const Report& report)
{
  const std::string model = model_pointer(report);
  if (model.empty() || report.jobs().size() > 1)
    return "";
  const Cells cells = cells_of(report, model);
  if (cells.models.size() < 2 || cells.lines.size() < 2 || cells.lines.size() > kMostLines ||
      cells.models.size() > kMostModels)
    return "";
  std::string html = "<thead><tr><th scope=\"col\"></th>";
  std::map<std::string, double> best;
  for (const std::string& column : cells.models) {
    html += "<th scope=\"col\" class=\"number\">" + escaped(column) + "</th>";
    for (const std::string& line : cells.lines)
      if (const auto it = cells.rates.find({line, column}); it != cells.rates.end())
        best[column] = std::max(best[column], it->second);
  }
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < cells.lines.size(); ++i) {
    html += "<tr><th scope=\"row\">" + curve_swatch(i % kCurveLooks) + " " + prose(cells.lines[i]) +
            "</th>";
    for (const std::string& column : cells.models) {
      const auto it = cells.rates.find({cells.lines[i], column});
      if (it == cells.rates.end()) {
        html += number_cell(column);
        continue;
      }
      const double share = it->second / best[column];
      html += fmt::format("<td data-label=\"{}\"{}>{}<small>{}</small></td>", escaped(column),
                          share > 0.9995 ? " class=\"best\"" : "", percent_text(share),
                          number_text(it->second, true));
    }
    html += "</tr>\n";
  }
  return section(
      "matrix", "Stacks and models",
      "<p class=\"note\">Percent of the best throughput of each model, at the largest number "
      "of GPUs; below it samples/s.</p><table class=\"stacking matrix\">" +
          html + "</tbody></table>");
}

} // namespace foretrain::experiments
