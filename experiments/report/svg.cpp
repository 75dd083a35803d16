#include "experiments/report/svg.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

std::string escaped(std::string_view text)
{
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text)
    switch (c) {
    case '&':
      safe += "&amp;";
      break;
    case '<':
      safe += "&lt;";
      break;
    case '>':
      safe += "&gt;";
      break;
    case '"':
      safe += "&quot;";
      break;
    case '\'':
      safe += "&#39;";
      break;
    default:
      safe += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  return safe;
}

std::string coordinate(double value)
{
  const double rounded = std::round(100 * value) / 100;
  std::string text = fmt::format("{:.2f}", rounded == 0 ? 0.0 : rounded);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

std::string marker_path(std::size_t index, double x, double y, double radius)
{
  const auto at = [&](double dx, double dy) {
    return coordinate(x + radius * dx) + " " + coordinate(y + radius * dy);
  };
  switch (index % 4) {
  case 0: { // circle
    const std::string r = coordinate(radius);
    return fmt::format("M{}a{} {} 0 1 0 {} 0a{} {} 0 1 0 -{} 0z", at(-1, 0), r, r,
                       coordinate(2 * radius), r, r, coordinate(2 * radius));
  }
  case 1: // square
    return fmt::format("M{}L{}L{}L{}z", at(-0.9, -0.9), at(0.9, -0.9), at(0.9, 0.9), at(-0.9, 0.9));
  case 2: // diamond
    return fmt::format("M{}L{}L{}L{}z", at(0, -1.25), at(1.25, 0), at(0, 1.25), at(-1.25, 0));
  default: // triangle
    return fmt::format("M{}L{}L{}z", at(0, -1.2), at(1.15, 0.9), at(-1.15, 0.9));
  }
}

const char* curve_dashes(std::size_t index)
{
  return index % kCurveLooks < 4 ? "none" : "7 3";
}

std::string curve_swatch(std::size_t index)
{
  return fmt::format(R"(<svg class="swatch c{}" width="34" height="14" aria-hidden="true">)"
                     R"(<path class="curve" stroke-dasharray="{}" d="M1 7H33"/>)"
                     R"(<path class="marker" d="{}"/></svg>)",
                     index % kCurveLooks, curve_dashes(index), marker_path(index, 17, 7, 4));
}

} // namespace foretrain::experiments
