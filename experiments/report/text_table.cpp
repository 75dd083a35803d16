#include "experiments/report/text_table.hpp"

#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::experiments {

namespace {

std::vector<std::size_t> widths_of(const TextTable& table)
{
  std::vector<std::size_t> widths;
  for (const std::string& name : table.header)
    widths.push_back(width_of(name));
  for (const auto& line : table.lines)
    if (line.size() == widths.size())
      for (std::size_t i = 0; i < line.size(); ++i)
        widths[i] = std::max(widths[i], width_of(line[i]));
  return widths;
}

std::string line_text(const std::vector<std::string>& line, const std::vector<std::size_t>& widths,
                      std::size_t texts)
{
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t width = width_of(line[i]);
    const std::string padding(widths[i] > width ? widths[i] - width : 0, ' ');
    const bool runs_over = line.size() < widths.size() && i + 1 == line.size();
    const bool left = i < texts || i + 2 >= widths.size() || runs_over;
    text += (i > 0 ? "  " : "") + (left ? line[i] + padding : padding + line[i]);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

} // namespace

std::size_t width_of(const TextTable& table)
{
  const auto widths = widths_of(table);
  return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
}

std::vector<std::string> lines_of(const TextTable& table)
{
  const auto widths = widths_of(table);
  std::vector<std::string> lines{line_text(table.header, widths, table.texts)};
  for (const auto& line : table.lines)
    lines.push_back(line_text(line, widths, table.texts));
  return lines;
}

std::string table_text(const TextTable& table)
{
  std::string text;
  for (const std::string& line : lines_of(table))
    text += line + "\n";
  return text;
}

std::string item_text(const std::string& text, std::size_t columns)
{
  std::string lines;
  for (const std::string& line : wrapped(clipped(text, 2000), columns - 4))
    lines += (lines.empty() ? "  - " : "    ") + line + "\n";
  return lines;
}

} // namespace foretrain::experiments
