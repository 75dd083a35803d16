#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

std::string number_text(double value, bool thousands)
{
  if (!std::isfinite(value))
    return "-";
  constexpr double kNothing = 5e-10; // no digit of nine is left of less
  const double size = std::abs(value) < kNothing ? 0 : std::abs(value);
  int decimals = 0;
  if (size > 0 && size < 99.95)
    decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size * 1.0005))), 0, 9);
  std::string text = fmt::format("{:.{}f}", size == 0 ? 0.0 : value, decimals);
  const std::size_t first = text[0] == '-' ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  if (thousands)
    for (std::size_t at = point; at > first + 3; at -= 3)
      text.insert(at - 3, ",");
  return text;
}

std::string tick_text(double value)
{
  const auto trimmed = [](double v) {
    std::string text = number_text(v, true);
    if (text.find('.') != std::string::npos) {
      text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.')
        text.pop_back();
    }
    return text;
  };
  if (std::abs(value) >= 1e12)
    return trimmed(value / 1e12) + " T";
  if (std::abs(value) >= 1e9)
    return trimmed(value / 1e9) + " G";
  if (std::abs(value) >= 1e6)
    return trimmed(value / 1e6) + " M";
  return trimmed(value);
}

std::string percent_text(double share)
{
  if (!std::isfinite(share))
    return "-";
  const double percent = 100 * share;
  const bool small = std::abs(percent) >= 0.05 && std::abs(percent) < 0.95;
  if (!small && std::abs(percent) < 0.5)
    return "0 %";
  return fmt::format("{:.{}f} %", percent, small ? 1 : 0);
}

std::string change_text(double share)
{
  const double percent = 100 * share;
  if (std::abs(percent) < 0.05)
    return "0 %";
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::size_t width_of(std::string_view text)
{
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string clipped(std::string_view text, std::size_t columns)
{
  std::string shown;
  std::size_t left = columns;
  const bool fits = width_of(text) <= columns;
  for (const char c : text) {
    if ((c & 0xC0) != 0x80 && left-- <= (fits ? 0U : 3U))
      return shown + "...";
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return shown;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns)
{
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > columns)
      lines.emplace_back();
    if (!lines.back().empty())
      lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

} // namespace foretrain::experiments
