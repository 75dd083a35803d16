// Deterministic damage to text files, for fuzz tests.
#pragma once

#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace foretrain::test {

/// What numbers are replaced by.
inline const std::vector<std::string> kOddNumbers = {
    "1e308", "-1", "99999999999999999999", "nan", "inf", "", "1e-9", "0", "\xff\xfe", "0x10",
    "]",     "\""};

/// `text` with one random damage: cut, a bit flipped, a number replaced, a line lost, doubled or
/// moved.
inline std::string damaged(const std::string& text, std::mt19937& random,
                           const std::vector<std::string>& odd = kOddNumbers)
{
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : random() % n; };
  const std::size_t at = below(text.size());
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  if (lines.empty())
    return text;
  const std::size_t line = below(lines.size());
  std::string out = text;
  switch (below(6)) {
  case 0:
    return text.substr(0, at);
  case 1:
    out[at] = static_cast<char>(out[at] ^ (1 << below(8)));
    return out;
  case 2: {
    const std::size_t digit = text.find_first_of("0123456789", at);
    if (digit == std::string::npos)
      return out;
    const std::size_t end = text.find_first_not_of("0123456789.", digit);
    return text.substr(0, digit) + odd[below(odd.size())] +
           (end == std::string::npos ? "" : text.substr(end));
  }
  case 3:
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
    break;
  case 4:
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())), lines[line]);
    break;
  default:
    std::swap(lines[line], lines[below(lines.size())]);
  }
  out.clear();
  for (const auto& it : lines)
    out += it + "\n";
  return out;
}

} // namespace foretrain::test
