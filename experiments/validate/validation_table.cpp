#include "experiments/validate/validation_table.hpp"

#include "experiments/report/report_csv.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/validate/validation_text.hpp"
#include "sim/base/json_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using Lines = std::vector<std::vector<std::string>>;

// Columns as wide as they need; the first one to the left, the others to the right.
std::string aligned(const Lines& lines)
{
  std::vector<std::size_t> widths;
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  std::string text;
  for (const auto& line : lines) {
    std::string row = " ";
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string pad(widths[i] - width_of(line[i]), ' ');
      row += " " + (i == 0 ? line[i] + pad : pad + line[i]) + " ";
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

Lines summary_lines(const char* title, const char* key, const Json& entries)
{
  Lines lines{{title, "rows", "mean", "max", "bias", "ratios", "order", "covered", "gate"}};
  for (const Json& entry : entries) {
    const SummaryText text = summary_text(entry);
    lines.push_back({text_at(entry, (std::string("/") + key).c_str()), text.rows, text.mean,
                     text.maximum, text.bias, text.ratios, text.order, text.covered, text.gate});
  }
  return lines;
}

std::string worst_rows(const Json& suite, std::size_t worst)
{
  Lines lines{{"worst rows", "error", "predicted", "measured", "", "regime"}};
  std::string problems;
  for (const Json& row : list_at(suite, "rows")) {
    if (text_at(row, "/role") != "validation")
      continue;
    if (const std::string problem = text_at(row, "/problem"); !problem.empty()) {
      problems += fmt::format("  {}: {}\n", text_at(row, "/id"), problem);
      continue;
    }
    if (lines.size() <= worst)
      lines.push_back({text_at(row, "/id"), signed_percent(*number_at(row, "/error")),
                       number_text(*number_at(row, "/predicted")),
                       number_text(*number_at(row, "/measured")), text_at(row, "/unit"),
                       text_at(row, "/regime")});
  }
  return (lines.size() > 1 ? "\n" + aligned(lines) : "") +
         (problems.empty() ? "" : "\n  rows without prediction:\n" + problems);
}

// How many of the measured jobs are told to fit in memory, where it is not all of them.
std::string memory_lines(const Json& suite, std::size_t worst)
{
  if (!suite.contains("memory"))
    return "";
  const Json& memory = suite.at("memory");
  const Json& ids = memory.at("not_fitting");
  if (ids.empty())
    return "";
  std::string text = fmt::format("\n  memory: {} of {} jobs that ran are told to fit; not these:\n",
                                 memory.at("fit").get<int>(), memory.at("rows").get<int>());
  for (std::size_t i = 0; i < std::min(worst, ids.size()); ++i)
    text += "  " + ids[i].get<std::string>() + "\n";
  if (ids.size() > worst)
    text += fmt::format("  and {} more (--format json has all)\n", ids.size() - worst);
  return text;
}

} // namespace

std::string validation_table(const Json& result, std::size_t worst)
{
  std::string text;
  for (const Json& suite : list_at(result, "suites")) {
    text += text_at(suite, "/suite");
    if (const std::string what = text_at(suite, "/description"); !what.empty())
      text += ": " + what;
    text += "\n";
    if (!list_at(suite, "regimes").empty())
      text += "\n" + aligned(summary_lines("regime", "regime", suite.at("regimes")));
    if (!list_at(suite, "parts").empty())
      text += "\n" + aligned(summary_lines("part", "part", suite.at("parts")));
    if (!list_at(suite, "calibration").empty())
      text += "\n" + aligned(summary_lines("calibration rows: not counted", "part",
                                           suite.at("calibration")));
    if (!list_at(suite, "disturbed").empty())
      text += "\n" + aligned(summary_lines("rows that contradict their table: not counted", "part",
                                           suite.at("disturbed")));
    text += worst_rows(suite, worst) + memory_lines(suite, worst) + "\n";
  }
  if (list_at(result, "suites").size() > 1 && !list_at(result, "regimes").empty())
    text += "all suites\n\n" + aligned(summary_lines("regime", "regime", result.at("regimes")));
  return text;
}

std::string validation_csv(const Json& result)
{
  constexpr const char* kColumns[] = {
      "suite", "id",   "part",  "regime",  "role",  "unit",     "measured", "spread", "predicted",
      "low",   "high", "error", "covered", "group", "ratio_of", "anchor",   "source", "problem"};
  std::vector<std::string> fields(std::begin(kColumns), std::end(kColumns));
  std::string text = csv_line(fields);
  for (const Json& suite : list_at(result, "suites"))
    for (const Json& row : list_at(suite, "rows")) {
      fields.clear();
      for (const char* column : kColumns)
        fields.push_back(row.contains(column) ? value_text(row.at(column)) : "");
      text += csv_line(fields);
    }
  return text;
}

} // namespace foretrain::experiments
