// Tables and lists on a terminal.
#pragma once

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Columns of a text for people, where nobody says how many.
inline constexpr std::size_t kTextColumns = 110;

/// Numbers are right-aligned between texts: the first `texts` columns and the last two.
struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> lines; // a shorter one ends in a text that runs over
  std::size_t texts = 0;
};

/// Columns on the terminal that it takes.
std::size_t width_of(const TextTable& table);
/// The header, then the lines.
std::vector<std::string> lines_of(const TextTable& table);
/// All of them, each with its line end.
std::string table_text(const TextTable& table);

/// "  - text", wrapped, the later lines indented alike.
std::string item_text(const std::string& text, std::size_t columns);

} // namespace foretrain::experiments
